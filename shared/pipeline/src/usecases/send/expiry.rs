//! Cancels messages that are not to leave any more: what they say was true only until a time, or nobody wants them.

use super::unknown_outcome::settle_if_already_sent;
use super::{SendContext, StepResult, Stop, require_written};
use crate::Deps;
use crate::steps::give_up::cancel_message;
use recado_domain::message::Outgoing;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_ports::records::effects::find_journal;

/// Cancels a queued message whose time is over, and stops then.
pub(super) async fn cancel_if_expired(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> StepResult {
    let now = deps.system().now();
    let is_over = message.out.expires_at.is_some_and(|at| at <= now);
    if !is_over || message.out.state != OutboxState::Queued {
        return Ok(());
    }
    Box::pin(cancel_unwanted(deps, context, message, Reason::Expired)).await
}

/// Cancels a reminder of an appointment that was moved or cancelled since it fell due, and stops then.
pub(super) async fn cancel_void_reminder(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> StepResult {
    let Some(reminded) = &message.out.reminds_of else {
        return Ok(());
    };
    let journal = find_journal(deps.store(), &context.bound.tenant.id, &reminded.thread).await?;
    if journal.is_some_and(|journal| journal.record.has_reminded_appointment(reminded)) {
        return Ok(());
    }
    Box::pin(cancel_unwanted(deps, context, message, Reason::Expired)).await
}

/// Cancels a queued message that is not to leave any more. Nothing follows from it: it answers nothing. If evidence shows that an earlier
/// attempt was sent, the message is marked as sent instead; without evidence it keeps its mark that it may have been. Always returns a
/// [`Stop`].
pub(super) async fn cancel_unwanted(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
    reason: Reason,
) -> StepResult {
    settle_if_already_sent(deps, context, message).await?;
    require_written(cancel_message(deps, message, reason).await?)?;
    Err(Stop::Finished)
}
