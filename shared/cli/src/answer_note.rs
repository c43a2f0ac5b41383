//! Says in words how a contact's message was answered, or the one reason why it was not.

use crate::instant::format_clock_time;
use crate::json_fields::{find_text, text_or_dash};
use recado_domain::answer::{AnswerReason, AnswerState};
use recado_machine::style::Paint;
use serde_json::Value;

/// The words about an answer, with their colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerNote {
    pub(crate) text: String,
    pub(crate) paint: Paint,
}

/// Describes the field `answer` of a message. `None`: the message has none, since no contact wrote it.
pub(crate) fn describe_answer(answer: &Value) -> Option<AnswerNote> {
    let word = find_text(answer, "reason")?;
    let Ok(reason) = serde_json::from_value::<AnswerReason>(Value::from(word)) else {
        // A newer installation may know more reasons.
        let state = text_or_dash(answer, "state");
        let text = format!("{state} ({word})");
        return Some(AnswerNote {
            text,
            paint: Paint::Warning,
        });
    };
    let told = explain_reason(reason, answer);
    let (text, paint) = match reason.state() {
        AnswerState::Answered => (told, Paint::Quiet),
        AnswerState::InWork => (format!("not answered yet: {told}"), Paint::Warning),
        AnswerState::NotOwed => (format!("NOT answered: {told} ({word})"), Paint::Warning),
        AnswerState::Waiting | AnswerState::Failed => (format!("NOT answered: {told} ({word})"), Paint::Bad),
    };
    Some(AnswerNote { text, paint })
}

/// Returns the sentence of a reason, without its beginning.
fn explain_reason(reason: AnswerReason, answer: &Value) -> String {
    let word = |before: &str, name: &str| {
        let word = find_text(answer, name);
        word.map_or_else(String::new, |word| format!("{before}{word}"))
    };
    let time = |before: &str, name: &str| {
        let at = find_text(answer, name).map(format_clock_time);
        at.map_or_else(String::new, |at| format!(" {before}{at}"))
    };
    let (since, cause, by) = (time("", "since"), word(": ", "cause"), word(" by ", "by"));
    match reason {
        AnswerReason::Replied => format!("answered{since}"),
        AnswerReason::ErrorMessage => format!("answered{since} with the error message{cause}"),
        AnswerReason::MaybeReplied => {
            format!("perhaps answered{since}: how the send ended was never learnt")
        }
        AnswerReason::Person => format!("answered{since}{by}"),
        AnswerReason::NotKept => "answered; the answer is no longer kept".to_owned(),
        AnswerReason::Debounce => {
            format!("more of the burst is waited for{}", time("until ", "until"))
        }
        AnswerReason::Drafting => "the reply is being drafted".to_owned(),
        AnswerReason::TurnPlace => "the tenant's other turns have all places".to_owned(),
        AnswerReason::EffectUnderWay => "an effect of the agent's tools is under way".to_owned(),
        AnswerReason::Sending => "the reply is on its way".to_owned(),
        AnswerReason::Manual => format!("people have the conversation{}{by}", time("since ", "since")),
        AnswerReason::NeedsPerson => format!("a person is waited for{cause}"),
        AnswerReason::OutOfHours => {
            format!("the business is closed{}", time("until ", "until"))
        }
        AnswerReason::ModelKey => "the model's key is missing or was refused".to_owned(),
        AnswerReason::InstanceClosed => {
            "the reply is ready, and the number has lost its connection to WhatsApp".to_owned()
        }
        AnswerReason::InstanceUnreachable => {
            "the reply is ready, and the provider cannot be reached".to_owned()
        }
        AnswerReason::InstanceKey => {
            "the reply is ready, and the key to send with is missing or was refused".to_owned()
        }
        AnswerReason::NoInstance => "the instance is disabled or not configured".to_owned(),
        AnswerReason::AgentDisabled => "the agent of the instance is disabled".to_owned(),
        AnswerReason::Stale => "it was too old when it came".to_owned(),
        AnswerReason::NothingToAnswer => format!("nothing asks for an answer{cause}"),
        AnswerReason::Resolved => format!("the conversation was resolved{by}"),
        AnswerReason::Cancelled => format!("the reply was withdrawn{cause}"),
        AnswerReason::DeadLetter => {
            format!("the reply could not be sent{cause}; see recado dlq list")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn described(answer: &Value) -> String {
        describe_answer(answer).unwrap().text
    }

    #[test]
    fn each_state_begins_with_whether_there_is_an_answer() {
        let at = "2026-03-01T08:00:00Z";
        let replied = described(&json!({"state": "answered", "reason": "replied", "since": at}));
        assert!(replied.starts_with("answered 03-01 "), "{replied}");
        let person = described(&json!({"state": "answered", "reason": "person", "by": "desk"}));
        assert_eq!(person, "answered by desk");
        let stale = described(&json!({"state": "not_owed", "reason": "stale"}));
        assert_eq!(stale, "NOT answered: it was too old when it came (stale)");
        let dead = described(&json!({"state": "failed", "reason": "dead_letter", "cause": "window_closed"}));
        assert!(
            dead.contains("could not be sent: window_closed") && dead.ends_with("(dead_letter)"),
            "{dead}"
        );
        let closed = described(&json!({"state": "waiting", "reason": "out_of_hours", "until": at}));
        assert!(closed.contains("closed until 03-01 "), "{closed}");
    }

    #[test]
    fn a_reason_of_a_newer_installation_is_shown_as_it_is() {
        let unknown = described(&json!({"state": "waiting", "reason": "moon_phase"}));
        assert_eq!(unknown, "waiting (moon_phase)");
        assert_eq!(describe_answer(&Value::Null), None);
    }
}
