//! Asks just before each attempt whether a message may leave: its guest may have opted out since it was taken, quiet hours may have begun,
//! its batch may be stopped, and what it reminds of may be off.

use super::expiry::{cancel_if_expired, cancel_unwanted, cancel_void_reminder};
use super::identity_attempt::keep_sent;
use super::{SendContext, StepResult, Stop, require_written};
use crate::Deps;
use crate::steps::attempt_permission::{AttemptPermission, judge_attempt};
use jiff::Timestamp;
use recado_domain::invitations::{BATCH_PERMIT, BatchState};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_ports::records::batches::find_batch;

/// Passes over an invitation that is held back: nothing else to the contact waits for it. `reconcile` comes back to it.
pub(super) fn pass_over_held_back(deps: &Deps, message: &Outgoing) -> StepResult {
    if message.out.is_held_back(deps.system().now()) {
        return Err(Stop::Finished);
    }
    Ok(())
}

/// Passes over a queued message that nothing else waits for: it is held back, or its batch is paused. Whether it may leave at all is asked
/// by [`check_permission`], just before its attempt.
pub(super) async fn pass_over_waiting(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> StepResult {
    if message.out.state != OutboxState::Queued {
        return Ok(());
    }
    pass_over_held_back(deps, message)?;
    let Some(batch) = &message.out.batch else {
        return Ok(());
    };
    let batch = find_batch(deps.store(), &context.bound.tenant.id, batch).await?;
    match batch.map(|batch| batch.record.state) {
        Some(BatchState::Paused) => Err(Stop::Finished),
        _ => Ok(()),
    }
}

/// Asks whether a message may leave now. Returns the time until which the answer holds; `None` if nothing was to be asked. What may not
/// leave now is held back, or passed over in a paused batch. What is not to leave any more is cancelled, also if it may have been sent
/// before.
pub(super) async fn check_permission(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> StepResult<Option<Timestamp>> {
    // The time before the reads: whoever stops a batch after that waits until the permit is over.
    let asked_at = deps.system().now();
    let out = &message.out;
    cancel_if_expired(deps, context, message).await?;
    cancel_void_reminder(deps, context, message).await?;
    if out.batch.is_none() && out.invitation.is_none() {
        let is_asked = out.expires_at.is_some() || out.reminds_of.is_some();
        return Ok(is_asked.then(|| add_duration(asked_at, BATCH_PERMIT)));
    }
    let invitation = out.invitation.as_deref();
    let tenant = &context.bound.tenant;
    let judged = judge_attempt(deps, tenant, out.batch.as_ref(), invitation).await?;
    if judged != AttemptPermission::Granted && out.is_identity_attempt() {
        return keep_sent(deps, message, "it may not leave now").await;
    }
    match judged {
        AttemptPermission::Granted => Ok(Some(add_duration(asked_at, BATCH_PERMIT))),
        AttemptPermission::NotBefore(at) => hold_back(deps, message, at).await,
        AttemptPermission::Paused => Err(Stop::Finished),
        AttemptPermission::Ended(reason) => {
            Box::pin(cancel_unwanted(deps, context, message, reason)).await?;
            Err(Stop::Finished)
        }
    }
}

/// Holds an invitation back. Always returns a [`Stop`].
async fn hold_back<T>(deps: &Deps, message: &Outgoing, at: Timestamp) -> StepResult<T> {
    let mut held = message.clone();
    held.out.hold_back(at)?;
    require_written(deps.store().save_open_message(&held.to_record(), None).await?)?;
    tracing::info!(
        ordinal = message.ordinal.0,
        "an invitation is held back by the rules for deliveries"
    );
    Err(Stop::Finished)
}
