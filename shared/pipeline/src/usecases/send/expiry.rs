//! Cancels messages that are of no use any more: what they say was true only until a time.

use super::{StepResult, Stop, require_written};
use crate::Deps;
use crate::measure::{MessageEnd, count_message_end};
use recado_domain::message::Outgoing;
use recado_domain::reason::Reason;
use recado_ports::ports::{EffectJournals, OutboxStore, System};

/// Cancels a message whose time is over, and stops then. A message that may have been sent before goes on.
pub(super) async fn cancel_if_expired(deps: &impl Deps, message: &Outgoing) -> StepResult {
    let now = deps.system().now();
    if message.out.expires_at.is_none_or(|at| now < at) {
        return Ok(());
    }
    Box::pin(cancel_passing_message(deps, message, Reason::Expired)).await
}

/// Cancels a reminder of an appointment that was moved or cancelled since it fell due, and stops then.
pub(super) async fn cancel_void_reminder(deps: &impl Deps, message: &Outgoing) -> StepResult {
    let Some(reminded) = &message.out.reminds_of else {
        return Ok(());
    };
    let journal = deps.store().find_journal(&reminded.thread).await?;
    if journal.is_some_and(|journal| journal.has_reminded_appointment(reminded)) {
        return Ok(());
    }
    Box::pin(cancel_passing_message(deps, message, Reason::Expired)).await
}

/// Cancels a message that has a time to expire, and stops then. Nothing follows from it: it answers nothing. A message
/// that may have been sent before goes on, as does one that never expires.
pub(super) async fn cancel_passing_message(
    deps: &impl Deps,
    message: &Outgoing,
    reason: Reason,
) -> StepResult {
    if message.out.expires_at.is_none() || !message.out.is_certainly_unsent() {
        return Ok(());
    }
    let mut cancelled = message.clone();
    cancelled.out.mark_cancelled(deps.system().now(), reason)?;
    let record = cancelled.to_record();
    require_written(deps.store().settle_message(&record, None, None, None).await?)?;
    count_message_end(&message.instance, MessageEnd::Cancelled);
    tracing::info!(ordinal = message.ordinal.0, %reason, "cancelled: the message is of no use any more");
    Err(Stop::Finished)
}
