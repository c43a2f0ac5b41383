//! The answers of agents that users run.

use crate::decision::{AgentDecision, OfferedDecisions};
use serde::Deserialize;
use serde_json::{Value, json};

/// The name under which replies of users' own agents are stored, in the place of a model's.
pub const HTTP_AGENT_MODEL: &str = "http";

/// The reply of an agent that the user runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAgentReply {
    /// Text of the reply. It is empty only beside a hand-over.
    pub text: String,
    /// The decision, if one was taken and is allowed.
    pub decision: Option<AgentDecision>,
    /// Number of decisions that were ignored: 0 or 1.
    pub ignored: u32,
}

/// The reason why an answer is no reply. No variant holds words of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedAnswer {
    /// The body is not the JSON that is asked for.
    #[error("its answer is not an object with `reply`, `decision`, `reason` and `step`")]
    Shape,
    /// There are no words for the contact.
    #[error(
        "its answer has no reply: only a hand-over goes without one, and 204 says that nothing is to be answered"
    )]
    NoWords,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    #[serde(default)]
    reply: Option<String>,
    #[serde(default)]
    decision: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    step: Option<String>,
}

/// Reads the body of an answer. A decision that is not offered, or lacks what it needs, is ignored, and the reply goes out.
pub fn read_http_agent_answer(
    body: &[u8],
    offered: &OfferedDecisions,
) -> Result<HttpAgentReply, MalformedAnswer> {
    // A list would be read as the fields in their order.
    let body: Value = serde_json::from_slice(body).map_err(|_| MalformedAnswer::Shape)?;
    if !body.is_object() {
        return Err(MalformedAnswer::Shape);
    }
    let body: AnswerBody = serde_json::from_value(body).map_err(|_| MalformedAnswer::Shape)?;
    let arguments = json!({"reason": body.reason, "step": body.step});
    let decided = body.decision.as_deref().map(|name| (name, &arguments));
    let reading = offered.read_calls(decided);
    let text = body.reply.unwrap_or_default().trim().to_owned();
    let hands_over = matches!(reading.decision, Some(AgentDecision::HandOver { .. }));
    if text.is_empty() && !hands_over {
        return Err(MalformedAnswer::NoWords);
    }
    Ok(HttpAgentReply {
        text,
        decision: reading.decision,
        ignored: reading.ignored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::StepId;

    fn offered() -> OfferedDecisions {
        OfferedDecisions {
            hand_over: true,
            resolve: false,
            steps: vec![StepId::parse("offer").unwrap()],
        }
    }

    fn read(body: &Value) -> Result<HttpAgentReply, MalformedAnswer> {
        read_http_agent_answer(body.to_string().as_bytes(), &offered())
    }

    #[test]
    fn an_answer_is_a_reply_with_or_without_a_decision() {
        let reply = |text: &str, decision, ignored| HttpAgentReply {
            text: text.to_owned(),
            decision,
            ignored,
        };
        let note = |note: &str| {
            Some(AgentDecision::HandOver {
                note: note.to_owned(),
            })
        };
        let step = Some(AgentDecision::MoveToStep(StepId::parse("offer").unwrap()));
        for (body, expected) in [
            (json!({"reply": " Oi "}), reply("Oi", None, 0)),
            (
                json!({"decision": "hand_over", "reason": "asks for a person"}),
                reply("", note("asks for a person"), 0),
            ),
            (
                json!({"reply": "Sim", "decision": "move_to_step", "step": "offer"}),
                reply("Sim", step, 0),
            ),
            // Not offered, without its reason, to a step that does not follow, unknown: the reply goes out.
            (
                json!({"reply": "Tchau", "decision": "resolve"}),
                reply("Tchau", None, 1),
            ),
            (
                json!({"reply": "Um momento", "decision": "hand_over"}),
                reply("Um momento", None, 1),
            ),
            (
                json!({"reply": "a", "decision": "move_to_step", "step": "close"}),
                reply("a", None, 1),
            ),
            (json!({"reply": "a", "decision": "pay"}), reply("a", None, 1)),
        ] {
            assert_eq!(read(&body), Ok(expected), "{body}");
        }
    }

    #[test]
    fn what_is_no_answer_is_told_by_its_kind() {
        for body in [
            json!(["Oi"]),
            json!("Oi"),
            json!({"text": "Oi"}),
            json!({"reply": 5}),
            json!(null),
        ] {
            assert_eq!(read(&body), Err(MalformedAnswer::Shape), "{body}");
        }
        for body in [
            json!({}),
            json!({"reply": " "}),
            json!({"decision": "hand_over", "reason": " "}),
        ] {
            assert_eq!(read(&body), Err(MalformedAnswer::NoWords), "{body}");
        }
        assert_eq!(
            read_http_agent_answer(b"<html>", &offered()),
            Err(MalformedAnswer::Shape)
        );
    }
}
