//! Replies for which nobody is asked: after too many attempts, above a limit of the agent, and to what nobody can read.

use crate::Deps;
use crate::hooks::turn_part::TurnPart;
use crate::steps::turn::LeasedTurn;
use crate::steps::turn::draft::DraftedReply;
use crate::steps::turn::reading::TurnReading;
use async_trait::async_trait;
use recado_domain::reason::Reason;

/// Turns that several workers did not end.
#[derive(Debug)]
pub struct FailedAttempts;

#[async_trait]
impl TurnPart for FailedAttempts {
    fn find_reply_at_once(&self, deps: &Deps, turn: &LeasedTurn<'_>) -> Option<DraftedReply> {
        if turn.draft.attempt <= deps.settings().attempts.turn {
            return None;
        }
        // Several workers crashed or failed. The contact is told so, and the model is not called again.
        tracing::error!(
            attempt = turn.draft.attempt,
            "the model was asked too often for one turn"
        );
        Some(DraftedReply::error_reply(deps, &turn.bound, Reason::ModelFailed))
    }
}

/// The limits of agents: the contact is told of a pause, where they say so.
#[derive(Debug)]
pub struct AgentPauses;

#[async_trait]
impl TurnPart for AgentPauses {
    fn find_reply_at_once(&self, deps: &Deps, turn: &LeasedTurn<'_>) -> Option<DraftedReply> {
        let pause = turn.pause?;
        Some(DraftedReply::pause_reply(deps, &turn.bound, pause.reason))
    }
}

/// The `unsupported_message` of agents.
#[derive(Debug)]
pub struct UnsupportedContent;

#[async_trait]
impl TurnPart for UnsupportedContent {
    fn find_reply_at_once(&self, deps: &Deps, turn: &LeasedTurn<'_>) -> Option<DraftedReply> {
        let words = turn.bound.agent.unsupported_message.as_deref();
        let unsupported = words.filter(|_| is_all_unsupported(&turn.reading));
        unsupported.map(|words| DraftedReply::from_text(deps, &turn.bound, words))
    }
}

/// Returns `true` if everything that expects an answer is content of unknown kinds without words.
fn is_all_unsupported(reading: &TurnReading) -> bool {
    let mut owed = reading
        .owed_messages()
        .filter(|message| message.content.expects_answer())
        .peekable();
    owed.peek().is_some() && owed.all(|message| message.content.is_wordless_unknown())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::turn::transcript::tests::message;
    use recado_domain::content::Content;
    use recado_domain::ids::Ordinal;
    use recado_domain::message::{Message, Role};
    use recado_ports::settings::Settings;
    use serde_json::json;

    fn unsupported(ordinal: u64) -> Message {
        unknown_kind(ordinal, json!({}))
    }

    fn unknown_kind(ordinal: u64, raw: serde_json::Value) -> Message {
        Message {
            content: Content::Unsupported {
                kind: "hologram".to_owned(),
                raw,
            },
            ..message(ordinal, Role::User, 1, "")
        }
    }

    #[test]
    fn only_a_burst_of_nothing_but_unknown_kinds_needs_no_model() {
        let text = |ordinal| message(ordinal, Role::User, 1, "oi");
        let all = |answered: u64, known: Vec<Message>| {
            let (upto, limits) = (Ordinal(known.len() as u64), Settings::default().turn_reads);
            is_all_unsupported(&TurnReading::choose_messages(
                Ordinal(answered),
                upto,
                known,
                &limits,
            ))
        };
        assert!(all(0, vec![unsupported(1), unsupported(2)]));
        assert!(!all(0, vec![text(1), unsupported(2)]));
        let with_words = unknown_kind(1, json!({"title": "oi"}));
        assert!(!all(0, vec![with_words, unsupported(2)]));
        assert!(
            all(1, vec![text(1), unsupported(2)]),
            "the text was answered before"
        );
        assert!(!all(2, vec![text(1), unsupported(2)]), "nothing is owed");
    }
}
