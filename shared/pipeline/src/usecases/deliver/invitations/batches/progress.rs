//! Tells how far batches are. What became of recipients is kept with them; what may have changed since is looked at again, a
//! bounded number at a time.

use super::super::InvitationError;
use super::super::lookup::view_invitation;
use crate::Deps;
use crate::ports::{BatchRecords, Page, PageRequest, PortResult, System, WriteOutcome};
use crate::steps::invited_tenant::choose_tenant;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::Caller;
use recado_domain::ids::{BatchId, InvitationId, TenantId};
use recado_domain::invitations::{
    Batch, BatchChunk, BatchCounts, Invitation, InvitationState, RecipientStatus,
};
use recado_domain::millis::add_duration;
use std::collections::HashMap;

/// Time for which a status that was looked at counts as new.
const COUNTED_FOR: SignedDuration = SignedDuration::from_secs(30);

/// Number of chunks that one request looks at again.
const CHUNKS_AT_ONCE: usize = 10;

/// Number of reads of messages side by side.
const READS_AT_ONCE: usize = 16;

/// A batch and how far it is.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchProgress {
    /// The batch.
    pub batch: Batch,
    /// Its recipients by what became of them.
    pub counts: BatchCounts,
    /// Time at which the oldest of the statuses was looked at; `None` if none may have changed.
    pub counted_at: Option<Timestamp>,
}

/// Returns a batch and how far it is.
pub async fn find_batch(
    deps: &impl Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    id: &BatchId,
) -> Result<BatchProgress, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let found = deps.store().find_batch(&tenant.id, id).await?;
    let batch = found.ok_or(InvitationError::NotFound("batch"))?;
    let mut chunks = deps.store().list_batch_chunks(&tenant.id, id).await?;
    refresh_chunks(deps, caller, &batch, &mut chunks).await?;
    let may_change = |chunk: &&BatchChunk| chunk.recipients.iter().any(|one| one.status.may_change());
    Ok(BatchProgress {
        counts: BatchCounts::count(&chunks, batch.state),
        counted_at: chunks
            .iter()
            .filter(may_change)
            .filter_map(|chunk| chunk.counted_at)
            .min(),
        batch,
    })
}

/// Lists the batches of a tenant, the newest first.
pub async fn list_batches(
    deps: &impl Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    page: &PageRequest,
) -> Result<Page<Batch>, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    Ok(deps.store().list_batches(&tenant.id, page).await?)
}

/// Looks again at the chunks whose statuses are oldest.
async fn refresh_chunks(
    deps: &impl Deps,
    caller: &Caller,
    batch: &Batch,
    chunks: &mut [BatchChunk],
) -> PortResult<()> {
    let before = add_duration(deps.system().now(), -COUNTED_FOR);
    let mut stale: Vec<&mut BatchChunk> = chunks.iter_mut().filter(|chunk| chunk.is_stale(before)).collect();
    stale.sort_by_key(|chunk| chunk.counted_at);
    for chunk in stale.into_iter().take(CHUNKS_AT_ONCE) {
        refresh_chunk(deps, caller, batch, chunk).await?;
    }
    Ok(())
}

async fn refresh_chunk(
    deps: &impl Deps,
    caller: &Caller,
    batch: &Batch,
    chunk: &mut BatchChunk,
) -> PortResult<()> {
    let looked_at = |place: usize, chunk: &BatchChunk| -> Option<InvitationId> {
        let recipient = chunk
            .recipients
            .get(place)
            .filter(|one| one.status.may_change())?;
        Some(batch.derive_invitation_id(recipient.guest.as_ref()?))
    };
    let places: Vec<(usize, InvitationId)> = (0..chunk.recipients.len())
        .filter_map(|place| Some((place, looked_at(place, chunk)?)))
        .collect();
    let ids: Vec<InvitationId> = places.iter().map(|(_, id)| id.clone()).collect();
    let read = deps
        .store()
        .read_invitations(&batch.tenant, &ids)
        .await?
        .into_iter();
    let mut read: HashMap<InvitationId, Invitation> = read.map(|one| (one.id.clone(), one)).collect();
    let named = places
        .into_iter()
        .filter_map(|(place, id)| Some((place, read.remove(&id)?)));
    let statuses: Vec<(usize, Option<RecipientStatus>)> = stream::iter(named)
        .map(|(place, invitation)| async move {
            PortResult::Ok((place, read_status(deps, caller, invitation).await?))
        })
        .buffer_unordered(READS_AT_ONCE)
        .try_collect()
        .await?;
    for (place, status) in statuses {
        if let (Some(recipient), Some(status)) = (chunk.recipients.get_mut(place), status) {
            recipient.status = status;
        }
    }
    chunk.counted_at = Some(deps.system().now());
    chunk.rev += 1;
    if deps.store().save_batch_chunk(chunk).await? == WriteOutcome::Conflict {
        tracing::debug!(batch_id = %batch.id, "another request looked at the same recipients");
    }
    Ok(())
}

/// Reads what became of an invitation. `None`: its message is gone, so that the last known status stays.
async fn read_status(
    deps: &impl Deps,
    caller: &Caller,
    invitation: Invitation,
) -> PortResult<Option<RecipientStatus>> {
    if matches!(invitation.state, InvitationState::Refused { .. }) {
        return Ok(Some(RecipientStatus::Refused));
    }
    let view = view_invitation(deps, caller, invitation).await?;
    Ok(view.map(|view| view.status.into()))
}
