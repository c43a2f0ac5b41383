//! Forgets guests in stored batches.

use recado_domain::ids::{GuestId, TenantId};
use recado_domain::invitations::{Batch, BatchChunk, Guest};
use recado_pipeline::Deps;
use recado_ports::ports::{PageRequest, PortError, PortResult, WriteOutcome};
use recado_ports::records::batches::{find_batch_chunk, list_batch_chunks, list_batches};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};

/// Number of batches that one read returns.
const PAGE: usize = 50;

/// Forgets these guests in all batches of the tenant. Who waits for an invitation gets none.
pub async fn forget_recipients(deps: &Deps, tenant: &TenantId, guests: &[Guest]) -> PortResult<()> {
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
