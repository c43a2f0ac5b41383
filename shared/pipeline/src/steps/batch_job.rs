//! Jobs that expand batches of invitations, on the queue `turns`.

use jiff::SignedDuration;
use recado_domain::ids::{BatchId, GuestId, TenantId};
use recado_domain::invitations::{Batch, BatchChunk, Guest};
use recado_domain::millis::add_duration;
use recado_ports::Deps;
use recado_ports::ports::{PageRequest, PortError, PortResult, WriteOutcome};
use recado_ports::records::batches::{find_batch, find_batch_chunk, list_batch_chunks, list_batches};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};

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

/// Number of batches that one read returns.
const PAGE: usize = 50;

/// Forgets these guests in all batches of the tenant. Who waits for an invitation gets none.
pub(crate) async fn forget_recipients(deps: &Deps, tenant: &TenantId, guests: &[Guest]) -> PortResult<()> {
    if guests.is_empty() {
        return Ok(());
    }
    let mut next = Some(PageRequest::first(PAGE));
    while let Some(page) = next {
        let found = list_batches(deps.store(), tenant, &page).await?;
        for batch in &found.items {
            let invited = |guest: &&Guest| guest.occasion == batch.occasion;
            let theirs: Vec<&Guest> = guests.iter().filter(invited).collect();
            if !theirs.is_empty() {
                forget_in_batch(deps, batch, &theirs).await?;
            }
        }
        next = page.follow(found.next_cursor);
    }
    Ok(())
}

async fn forget_in_batch(deps: &Deps, batch: &Batch, guests: &[&Guest]) -> PortResult<()> {
    for chunk in list_batch_chunks(deps.store(), &batch.tenant, &batch.id).await? {
        forget_in_chunk(deps, chunk, guests).await?;
    }
    Ok(())
}

async fn forget_in_chunk(deps: &Deps, chunk: Versioned<BatchChunk>, guests: &[&Guest]) -> PortResult<()> {
    let contended = PortError::contended("recipients of a batch");
    retry_lost_write(contended, chunk, |mut chunk| async move {
        let is_theirs = |id: &GuestId| guests.iter().any(|guest| guest.id == *id);
        if !chunk.record.forget_guests(is_theirs)
            || write_record(deps.store(), &mut chunk).await? == WriteOutcome::Written
        {
            return Ok(WriteAttempt::Done(()));
        }
        let known = &chunk.record;
        let found = find_batch_chunk(deps.store(), &known.tenant, &known.batch, known.number).await?;
        Ok(found.map_or(WriteAttempt::Done(()), WriteAttempt::Lost))
    })
    .await
}
