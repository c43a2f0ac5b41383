//! Waits for messages that cannot leave now. The send job is retried, and the messages behind wait in the same FIFO
//! group.

use super::parking::{PARK_BEYOND, park_conversation};
use super::{StepResult, Stop, cancel, require_written};
use crate::Deps;
use crate::steps::verdict::Verdict;
use jiff::{SignedDuration, Timestamp};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
/// Ends the send job with `verdict`, or cancels `message` if it is a void reply. The outcome of the message's attempt
/// must be stored before this call. Then an earlier takeover is found here, and a later takeover finds the message
/// `queued`. Always returns a [`Stop`].
pub(super) async fn wait_unless_void<T>(deps: &Deps, message: &Outgoing, verdict: Verdict) -> StepResult<T> {
    cancel::cancel_if_void(deps, message).await?;
    Err(Stop::Later(verdict))
}

/// Lets others go before `message` until `at`, and stores that. A distant time is parked for until 2 minutes before it. Always
/// returns a [`Stop`].
pub(super) async fn yield_to_others<T>(deps: &Deps, message: &mut Outgoing, at: Timestamp) -> StepResult<T> {
    let now = deps.system().now();
    message.out.yield_until(at);
    require_written(deps.store().save_open_message(&message.to_record(), None).await?)?;
    if at > add_duration(now, PARK_BEYOND) {
        let before = add_duration(at, -SignedDuration::from_mins(2));
        return park_conversation(deps, message, Some(before)).await;
    }
    wait_unless_void(deps, message, Verdict::retry_at(at, now)).await
}
