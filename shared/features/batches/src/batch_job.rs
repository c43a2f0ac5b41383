//! Jobs that expand batches of invitations, on the queue `turns`.

use jiff::SignedDuration;
use recado_domain::ids::{BatchId, TenantId};
use recado_domain::invitations::Batch;
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_ports::ports::{PortResult, WriteOutcome};
use recado_ports::records::batches::find_batch;
use recado_ports::table::write_record;

/// Time until an expansion is restarted again.
const RESTART_AGAIN: SignedDuration = SignedDuration::from_mins(2);

/// Enqueues the job that expands a batch from its recipient number `from` on, after `delay`.
pub(crate) async fn enqueue_batch(
    deps: &Deps,
    batch: &Batch,
    from: usize,
    delay: SignedDuration,
) -> PortResult<()> {
    let delay = delay.max(SignedDuration::ZERO).unsigned_abs();
    deps.queues()
        .enqueue_turns_job(&batch.make_job(from), delay)
        .await
}

/// Enqueues the job of a batch whose expansion is overdue, or whose end is to be looked for. Returns `false` if nothing is to be done, or
/// another worker was faster.
pub(crate) async fn restart_batch(deps: &Deps, tenant: &TenantId, id: &BatchId) -> PortResult<bool> {
    let now = deps.system().now();
    let found = find_batch(deps.store(), tenant, id).await?;
    let Some(mut found) = found.filter(|found| found.record.due_at.is_some_and(|due| due <= now)) else {
        return Ok(false);
    };
    found.record.put_off(add_duration(now, RESTART_AGAIN));
    let written = write_record(deps.store(), &mut found).await?;
    let batch = found.record;
    let goes_on = batch.is_expanding() || batch.is_ending();
    if written == WriteOutcome::Conflict || !goes_on {
        return Ok(false);
    }
    enqueue_batch(deps, &batch, batch.expanded, SignedDuration::ZERO).await?;
    Ok(true)
}
