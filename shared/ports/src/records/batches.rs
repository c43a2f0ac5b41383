//! Batches of invitations, and their recipients in chunks.

use super::claims::{InvitationClaim, save_with_claims};
use super::list_due_ids;
use crate::ports::{Page, PageRequest, PortError, PortResult};
use crate::table::{
    Partition, Query, Record, Table, Versioned, find_with_version, list_all_versions, list_records,
};
use jiff::Timestamp;
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::ids::{BatchId, TenantId};
use recado_domain::invitations::{Batch, BatchChunk};

/// The number of chunks that are read at once.
const PAGE: usize = 99;

impl Record for Batch {
    const KIND: &'static str = "batches";
    const HAS_TIMES: bool = true;
    const HAS_TIMES_WHILE_DUE: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.id.to_string()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.keep_until)
    }

    fn compute_due_time(&self) -> Option<Timestamp> {
        self.due_at
    }

    fn set_times_back(&mut self, back: ClockRollback) -> bool {
        back.correct_batch(self)
    }
}

impl Record for BatchChunk {
    const KIND: &'static str = "batch-chunks";

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        format_sort_of_chunk(&self.batch, self.number)
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.keep_until)
    }
}

/// Returns the beginning of the places of a batch's chunks. No id contains a `#`.
fn prefix_of_batch(batch: &BatchId) -> String {
    format!("{batch}#")
}

fn format_sort_of_chunk(batch: &BatchId, number: usize) -> String {
    format!("{}{number:06}", prefix_of_batch(batch))
}

/// The result of beginning a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a batch that was not begun must not be sent"]
pub enum BatchOutcome {
    /// The batch and its claim are stored.
    Begun,
    /// Nothing was stored: another batch has claimed the key.
    Claimed(BatchId),
}

/// Stores a new batch and, if given, its claim in one transaction, as
/// [`begin_invitation`](super::invitations::begin_invitation) does for an invitation. Afterwards `batch` may be changed and saved again.
pub async fn begin_batch(
    table: &dyn Table,
    batch: &mut Versioned<Batch>,
    claim: Option<&InvitationClaim>,
    now: Timestamp,
) -> PortResult<BatchOutcome> {
    let (tenant, id) = (batch.record.tenant.clone(), batch.record.id.clone());
    let claims = claim.map_or(&[][..], std::slice::from_ref);
    let held = save_with_claims(table, batch, (&tenant, id.as_str()), claims, now).await?;
    let Some(held) = held else {
        return Ok(BatchOutcome::Begun);
    };
    let by = BatchId::parse(&held.by).map_err(|error| PortError::invalid(Batch::KIND, error))?;
    Ok(BatchOutcome::Claimed(by))
}

/// Returns a batch; `None` if it does not exist.
pub async fn find_batch(
    table: &dyn Table,
    tenant: &TenantId,
    id: &BatchId,
) -> PortResult<Option<Versioned<Batch>>> {
    find_with_version(table, Some(tenant), id.as_str()).await
}

/// Lists the batches of a tenant, the newest first.
pub async fn list_batches(
    table: &dyn Table,
    tenant: &TenantId,
    page: &PageRequest,
) -> PortResult<Page<Batch>> {
    let own = Query::new(Partition::new(Batch::KIND, Some(tenant)), page.limit);
    list_records(table, own.in_reverse(), page, |_| true).await
}

/// Lists the batches that are due at `now`, at most `limit`, the longest due first. The list may be some seconds old.
pub async fn list_due_batches(
    table: &dyn Table,
    now: Timestamp,
    limit: usize,
) -> PortResult<Vec<(TenantId, BatchId)>> {
    list_due_ids::<Batch, _, _>(table, now, limit, BatchId::parse).await
}

/// Returns a chunk of a batch's recipients; `None` if it does not exist.
pub async fn find_batch_chunk(
    table: &dyn Table,
    tenant: &TenantId,
    batch: &BatchId,
    number: usize,
) -> PortResult<Option<Versioned<BatchChunk>>> {
    find_with_version(table, Some(tenant), &format_sort_of_chunk(batch, number)).await
}

/// Lists all chunks of a batch by their numbers.
pub async fn list_batch_chunks(
    table: &dyn Table,
    tenant: &TenantId,
    batch: &BatchId,
) -> PortResult<Vec<Versioned<BatchChunk>>> {
    let all = Query::new(Partition::new(BatchChunk::KIND, Some(tenant)), PAGE);
    list_all_versions(table, all.with_prefix(&prefix_of_batch(batch)), |_| true).await
}
