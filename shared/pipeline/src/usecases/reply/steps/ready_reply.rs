//! The step [`recado_domain::turn::TurnStep::ReadyReply`]: takes a reply for which the model is not asked.

use super::spelling_correction::only_corrects_spelling;
use crate::Deps;
use crate::usecases::reply::draft::DraftedReply;
use crate::usecases::reply::leased_turn::LeasedTurn;
use crate::usecases::reply::reading::TurnReading;
use crate::usecases::reply::turn_end::TurnStop;
use recado_domain::reason::Reason;

/// Returns the reply of a turn for which the model is not asked. `None`: the model is to be asked. Such a reply is the agent's
/// error message after too many attempts, what its limits say above one of them, or its `unsupported_message`. It has no messages if the contact only
/// corrected the spelling of what is answered.
pub(in crate::usecases::reply) async fn find_ready_reply(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
) -> Result<Option<DraftedReply>, TurnStop> {
    if only_corrects_spelling(&turn.conversation, &turn.reading) {
        return Ok(Some(DraftedReply::silence(
            deps,
            &turn.bound,
            Reason::SpellingCorrection,
        )));
    }
    if turn.draft.attempt > deps.settings().attempts.turn {
        // Several workers crashed or failed. The contact is told so, and the model is not called again.
        tracing::error!(
            attempt = turn.draft.attempt,
            "the model was asked too often for one turn"
        );
        return Ok(Some(DraftedReply::error_reply(
            deps,
            &turn.bound,
            Reason::ModelFailed,
        )));
    }
    if let Some(pause) = turn.pause {
        return Ok(Some(DraftedReply::pause_reply(deps, &turn.bound, pause.reason)));
    }
    let words = turn.bound.agent.unsupported_message.as_deref();
    let unsupported = words.filter(|_| is_all_unsupported(&turn.reading));
    Ok(unsupported.map(|words| DraftedReply::from_text(deps, &turn.bound, words)))
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
    use crate::usecases::reply::transcript::tests::message;
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
