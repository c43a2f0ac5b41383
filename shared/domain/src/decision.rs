//! The decisions of an agent. The model takes them by calling typed tools beside its words; they are committed together
//! with the reply. A call that cannot be read decides nothing.

use crate::ids::StepId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Greatest length of the note of a hand-over, in characters.
const NOTE_MAX: usize = 500;

/// A decision that the configuration allows an agent to take. Moves between steps are allowed by the steps themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// Leave the conversation to a person.
    HandOver,
    /// End the conversation.
    Resolve,
}

/// A decision that the agent took with a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentDecision {
    /// Leave the conversation to a person.
    HandOver {
        /// The agent's explanation for the person who takes the conversation.
        note: String,
    },
    /// End the conversation.
    Resolve,
    /// Go on at another step of the script.
    MoveToStep(StepId),
}

impl AgentDecision {
    /// Returns the name of the tool by which the model takes the decision, which is also its name in logs.
    pub fn tool_name(&self) -> &'static str {
        match self {
            Self::HandOver { .. } => HAND_OVER,
            Self::Resolve => RESOLVE,
            Self::MoveToStep(_) => MOVE_TO_STEP,
        }
    }
}

const HAND_OVER: &str = "hand_over";
const RESOLVE: &str = "resolve";
const MOVE_TO_STEP: &str = "move_to_step";

/// The names of the tools by which models take decisions. No other tool may have them.
pub const DECISION_TOOL_NAMES: [&str; 3] = [HAND_OVER, RESOLVE, MOVE_TO_STEP];

/// The decisions that the agent may take with its next reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferedDecisions {
    /// `true` if the agent may leave the conversation to a person.
    pub hand_over: bool,
    /// `true` if the agent may end the conversation.
    pub resolve: bool,
    /// Steps to which the agent may move.
    pub steps: Vec<StepId>,
}

/// A tool by which the model takes a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionTool {
    /// Name of the tool.
    pub name: &'static str,
    /// Description for the model.
    pub description: &'static str,
    /// JSON schema of the arguments.
    pub arguments: Value,
}

/// The result of reading a model's tool calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionReading {
    /// The decision, if a call was sound.
    pub decision: Option<AgentDecision>,
    /// The message for the contact in the call that decided.
    pub message: Option<String>,
    /// The message for the contact in a call that was ignored. It is used only if there are no other words.
    pub ignored_message: Option<String>,
    /// Number of calls that were ignored: of unknown tools, with malformed arguments, or beside the one that decided.
    pub ignored: u32,
}

#[derive(Deserialize)]
struct HandOverCall {
    reason: String,
}

#[derive(Deserialize)]
struct MoveCall {
    step: StepId,
}

impl OfferedDecisions {
    /// Returns `true` if no decision is offered.
    pub fn is_empty(&self) -> bool {
        !self.hand_over && !self.resolve && self.steps.is_empty()
    }

    /// Returns the tools of the offered decisions.
    pub fn list_tools(&self) -> Vec<DecisionTool> {
        let hand_over = self.hand_over.then(|| DecisionTool {
            name: HAND_OVER,
            description: "Leave this conversation to a person of the team, who then answers in your place. Call it when the \
                contact asks for a person, or when you must not or cannot help. Your message is the last that you send.",
            arguments: describe_arguments(
                "reason",
                &json!({"type": "string", "description": "One or two sentences for the person who takes the conversation: \
                    what the contact needs, and why you leave it. The contact does not see them."}),
            ),
        });
        let resolve = self.resolve.then(|| DecisionTool {
            name: RESOLVE,
            description: "End this conversation, because nothing is open any more: the contact has what they need, or says \
                goodbye. Your message is the last of the conversation.",
            arguments: json!({"type": "object", "properties": {"message": describe_message()}, "required": ["message"]}),
        });
        let steps: Vec<&str> = self.steps.iter().map(StepId::as_str).collect();
        let move_to_step = (!steps.is_empty()).then(|| DecisionTool {
            name: MOVE_TO_STEP,
            description: "Go on at another step of your script. Call it together with your message when this step is done; \
                the instructions of the new step are shown to you with the contact's next message.",
            arguments: describe_arguments("step", &json!({"type": "string", "enum": steps})),
        });
        hand_over.into_iter().chain(resolve).chain(move_to_step).collect()
    }

    /// Reads the calls of a model, each a tool's name and its arguments. Of several sound calls, a hand-over counts before
    /// a resolve, and a resolve before a move.
    pub fn read_calls<'a>(&self, calls: impl IntoIterator<Item = (&'a str, &'a Value)>) -> DecisionReading {
        let mut reading = DecisionReading::default();
        let mut chosen_rank = 0;
        for (name, arguments) in calls {
            let message = arguments.get("message").and_then(Value::as_str);
            let message = message.map(str::trim).filter(|text| !text.is_empty());
            let message = message.map(str::to_owned);
            let decided = self.read_call(name, arguments);
            let rank = decided.as_ref().map_or(0, decision_rank);
            if rank > chosen_rank {
                reading.ignored += u32::from(chosen_rank > 0);
                let before = std::mem::replace(&mut reading.message, message);
                reading.ignored_message = before.or(reading.ignored_message.take());
                (reading.decision, chosen_rank) = (decided, rank);
            } else {
                reading.ignored += 1;
                reading.ignored_message = reading.ignored_message.take().or(message);
            }
        }
        reading
    }

    /// Reads one call. `None`: it decides nothing.
    fn read_call(&self, name: &str, arguments: &Value) -> Option<AgentDecision> {
        // A list would be read as the fields in their order.
        if !arguments.is_object() {
            return None;
        }
        match name {
            HAND_OVER if self.hand_over => {
                let call: HandOverCall = parse_arguments(arguments)?;
                let note = shorten_note(&call.reason);
                (!note.is_empty()).then_some(AgentDecision::HandOver { note })
            }
            RESOLVE if self.resolve => Some(AgentDecision::Resolve),
            MOVE_TO_STEP => {
                let MoveCall { step } = parse_arguments(arguments)?;
                self.steps
                    .contains(&step)
                    .then_some(AgentDecision::MoveToStep(step))
            }
            _ => None,
        }
    }
}

fn parse_arguments<T: DeserializeOwned>(arguments: &Value) -> Option<T> {
    serde_json::from_value(arguments.clone()).ok()
}

fn decision_rank(decision: &AgentDecision) -> u8 {
    match decision {
        AgentDecision::HandOver { .. } => 3,
        AgentDecision::Resolve => 2,
        AgentDecision::MoveToStep(_) => 1,
    }
}

fn describe_message() -> Value {
    json!({"type": "string", "description": "The message that the contact gets, in the contact's language."})
}

fn describe_arguments(name: &str, argument: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {name: argument, "message": describe_message()},
        "required": [name, "message"],
    })
}

/// Returns the note in one line of at most 500 characters.
fn shorten_note(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(NOTE_MAX).collect()
}

#[cfg(test)]
mod tests;
