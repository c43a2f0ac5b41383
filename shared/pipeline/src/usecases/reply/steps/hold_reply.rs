//! The step [`recado_domain::turn::TurnStep::Hold`]: keeps a reply back until the contact had time to write the next line.

use crate::Deps;
use crate::steps::wake_up::resolve_debounce;
use crate::usecases::reply::leased_turn::LeasedTurn;
use crate::usecases::reply::reading::TurnReading;
use crate::usecases::reply::turn_end::TurnStop;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::millis::add_duration;
/// Returns the time before which the reply of a turn that begins now does not leave. A rule may have let the draft begin earlier, since the
/// contact's last message reads complete.
pub(in crate::usecases::reply) fn find_leaving_time(
    deps: &Deps,
    bound: &InstanceConfig,
    conversation: &Conversation,
    reading: &TurnReading,
) -> Timestamp {
    let now = deps.system().now();
    let newest = reading.owed_messages().next_back();
    // The clock of the worker that stored the message may be ahead.
    let written_at = newest.map_or(now, |message| message.stored_at.min(now));
    let silence = resolve_debounce(deps, bound).silence_before_reply();
    let within = conversation.bound_silence(silence, written_at, deps.settings().debounce_max);
    add_duration(written_at, within)
}

/// Waits until the time before which the reply does not leave. A draft that took longer waits for nothing. Who writes meanwhile, or takes
/// the conversation over, is noticed at the commit.
pub(in crate::usecases::reply) async fn hold_reply(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
) -> Result<(), TurnStop> {
    let now = deps.system().now();
    let left = turn.time.left_until(turn.leaves_at, now);
    if !left.is_zero() {
        deps.system().sleep(left).await;
    }
    Ok(())
}
