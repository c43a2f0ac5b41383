//! Pauses, resumes and cancels batches.

use super::super::InvitationError;
use crate::steps::batch_job::enqueue_batch;
use crate::steps::invited_tenant::choose_tenant;
use jiff::SignedDuration;
use recado_domain::access::Caller;
use recado_domain::ids::{BatchId, TenantId};
use recado_domain::invitations::{BATCH_PERMIT, Batch, BatchOrder};
use recado_ports::Deps;
use recado_ports::ports::{PortError, WriteOutcome};
use recado_ports::records::batches::find_batch;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::write_record;

/// Gives an order about a batch. When the order to pause or cancel returns, no message of the batch begins to leave any more: a
/// sender looks at the batch just before it sends, relies on that for [`BATCH_PERMIT`], and this function waits as long.
pub async fn order_batch(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    id: &BatchId,
    order: BatchOrder,
) -> Result<Batch, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let batch = store_order(deps, &tenant.id, id, order).await?;
    tracing::info!(batch_id = %batch.id, state = batch.state.as_str(), "a batch was ordered");
    if order != BatchOrder::Resume {
        deps.system().sleep(BATCH_PERMIT.unsigned_abs()).await;
    } else if batch.is_expanding() {
        enqueue_batch(deps, &batch, batch.expanded, SignedDuration::ZERO).await?;
    }
    Ok(batch)
}

/// Stores the state that follows from an order, unless the batch has it already.
async fn store_order(
    deps: &Deps,
    tenant: &TenantId,
    id: &BatchId,
    order: BatchOrder,
) -> Result<Batch, InvitationError> {
    retry_lost_write(PortError::contended("batch"), (), |()| async {
        let found = find_batch(deps.store(), tenant, id).await?;
        let mut batch = found.ok_or(InvitationError::NotFound("batch"))?;
        let is_new = batch.record.follow(order, deps.system().now())?;
        if is_new && write_record(deps.store(), &mut batch).await? == WriteOutcome::Conflict {
            return Ok(WriteAttempt::Lost(()));
        }
        Ok(WriteAttempt::Done(batch.record))
    })
    .await
}
