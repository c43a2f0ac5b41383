//! Holds messages of batches back that are paused or cancelled.

use super::{StepResult, Stop, require_written};
use crate::Deps;
use crate::steps::cancelled_batch::cancel_batch_message;
use jiff::Timestamp;
use recado_domain::invitations::{BATCH_PERMIT, BatchState};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_ports::ports::{BatchRecords, System};

/// Looks at the batch of a message. Returns the time until which the message may leave, `None` if it belongs to no batch. A message
/// of a paused batch is passed over: `reconcile` comes back to it. One of a cancelled batch is cancelled.
pub(super) async fn check_batch(deps: &impl Deps, message: &Outgoing) -> StepResult<Option<Timestamp>> {
    let Some(id) = &message.out.batch else {
        return Ok(None);
    };
    // The time before the read: whoever stops the batch after that waits until the permit is over.
    let asked_at = deps.system().now();
    let batch = deps.store().find_batch(&message.tenant, id).await?;
    match batch.map(|batch| batch.state) {
        Some(BatchState::Cancelled) => cancel_message(deps, message).await,
        Some(BatchState::Paused) => Err(Stop::Finished),
        Some(BatchState::Preparing | BatchState::Scheduled | BatchState::Running | BatchState::Finished)
        | None => Ok(Some(add_duration(asked_at, BATCH_PERMIT))),
    }
}

/// Cancels a message whose batch was cancelled, and stops. Always returns a [`Stop`].
async fn cancel_message<T>(deps: &impl Deps, message: &Outgoing) -> StepResult<T> {
    require_written(cancel_batch_message(deps, message).await?)?;
    Err(Stop::Finished)
}
