//! Holds e-mails of batches back that are paused or cancelled.

use crate::Deps;
use jiff::Timestamp;
use recado_domain::ids::{BatchId, TenantId};
use recado_domain::invitations::{BATCH_PERMIT, BatchState};
use recado_domain::millis::add_duration;
use recado_ports::ports::{BatchRecords, PortResult, System};

/// The state of an e-mail's batch.
pub(super) enum BatchGate {
    /// The e-mail may leave; before this time, if it belongs to a batch.
    Open { until: Option<Timestamp> },
    /// The batch is paused.
    Paused,
    /// The batch was cancelled.
    Cancelled,
}

/// Looks at the batch of an e-mail. Whoever pauses or cancels it after that waits until the permit is over.
pub(super) async fn check_batch(
    deps: &impl Deps,
    tenant: &TenantId,
    batch: Option<&BatchId>,
) -> PortResult<BatchGate> {
    let Some(id) = batch else {
        return Ok(BatchGate::Open { until: None });
    };
    let asked_at = deps.system().now();
    let found = deps.store().find_batch(tenant, id).await?;
    Ok(match found.map(|batch| batch.state) {
        Some(BatchState::Cancelled) => BatchGate::Cancelled,
        Some(BatchState::Paused) => BatchGate::Paused,
        Some(BatchState::Preparing | BatchState::Scheduled | BatchState::Running | BatchState::Finished)
        | None => BatchGate::Open {
            until: Some(add_duration(asked_at, BATCH_PERMIT)),
        },
    })
}
