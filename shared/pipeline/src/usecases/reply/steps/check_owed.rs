//! The step [`recado_domain::turn::TurnStep::Owed`]: checks that the agent owes an answer now.

use super::check_hours::begin_of_minute;
use crate::features::TURN_PARTS;
use crate::steps::turn::turn_end::{TurnEnd, TurnStop};
use crate::steps::typing_signs;
use jiff::{SignedDuration, Timestamp};
use recado_domain::conversation::{Conversation, TurnDecision};
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_duration;
use recado_domain::wake_up::TurnJob;
use recado_ports::Deps;
/// Least pause between two looks at a contact who types.
const LOOK_AGAIN_MIN: SignedDuration = SignedDuration::from_secs(1);

/// Ends the turn unless the agent owes an answer now and no other worker drafts it. `debounce_max` is the longest time
/// for which newer messages, or a contact who types, put the answer off. `newest` are the newest messages. If nothing
/// is owed, the parts of the turn do what is left to do for these.
pub(in crate::usecases::reply) async fn check_owed(
    deps: &Deps,
    job: &TurnJob,
    conversation: &Conversation,
    newest: &[Message],
) -> Result<(), TurnStop> {
    let (now, wait_max) = (deps.system().now(), deps.settings().debounce_max);
    // A conversation has one scheduled job in the minute of the opening, the first one's: it stands for all messages, also if it was
    // scheduled for an earlier place of that minute than the one that was stored in the end.
    let is_scheduled = match (job.due, conversation.scheduled_for) {
        (Some(due), Some(stored)) => begin_of_minute(due) == begin_of_minute(stored),
        _ => false,
    };
    let named = if is_scheduled {
        conversation.turn_upto
    } else {
        job.ordinal
    };
    let end = match conversation.decide_turn(named, now, wait_max) {
        TurnDecision::AnswerNow => match find_typing_end(deps, conversation, newest, now).await {
            None => return Ok(()),
            Some(until) => {
                // The contact may stop before.
                let again = deps.settings().typing.short.max(LOOK_AGAIN_MIN);
                let until = until.min(add_duration(now, again));
                TurnEnd::ContactTypes { until }
            }
        },
        TurnDecision::StandDown => TurnEnd::NewerMessage,
        TurnDecision::NothingOwed => {
            for part in TURN_PARTS {
                part.follow_nothing_owed(deps, conversation, newest).await?;
            }
            TurnEnd::NothingOwed
        }
        TurnDecision::LeaseHeld(until) => TurnEnd::LeaseHeld { until },
    };
    Err(end.into())
}

/// Returns the time until which the reply waits for a contact who types, if it does. Only where the setting says so is
/// anything read, and a failure of that read has no effect.
async fn find_typing_end(
    deps: &Deps,
    conversation: &Conversation,
    newest: &[Message],
    now: Timestamp,
) -> Option<Timestamp> {
    let settings = deps.settings();
    let latest = add_duration(conversation.waiting_since?, settings.debounce_max);
    if !settings.typing.is_on() || latest <= now {
        return None;
    }
    let last = newest.iter().rev().find(|message| message.role == Role::User)?;
    match typing_signs::find_sign(deps, conversation).await {
        Ok(sign) => settings.typing.wait_until(&sign?, last.stored_at, latest, now),
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "whether the contact types is not known");
            None
        }
    }
}
