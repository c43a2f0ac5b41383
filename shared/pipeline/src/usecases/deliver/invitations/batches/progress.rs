//! Tells how far batches are. What became of recipients is kept with them; what may have changed since is looked at again, a
//! bounded number at a time.

use super::super::InvitationError;
use super::super::lookup::view_listed_invitation;
use super::made_invitation::status_of;
use crate::steps::invited_tenant::choose_tenant;
use crate::steps::unreadable::pass_over_unreadable;
use crate::steps::verdict::Verdict;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::Caller;
use recado_domain::ids::{BatchId, InvitationId, TenantId};
use recado_domain::invitations::{
    Batch, BatchChunk, BatchCounts, BatchRecipient, BatchState, Invitation, InvitationState,
    InvitationStatus, RecipientStatus,
};
use recado_domain::millis::add_duration;
use recado_ports::Deps;
use recado_ports::ports::{Page, PageRequest, PortError, PortResult, WriteOutcome};
use recado_ports::records::batches as batch_records;
use recado_ports::records::invitations::{find_invitation, read_invitations};
use recado_ports::table::{Versioned, write_record};
use std::collections::HashMap;

/// Time for which a status that was looked at counts as new.
const COUNTED_FOR: SignedDuration = SignedDuration::from_secs(30);

/// Number of chunks that one request looks at again.
pub(super) const CHUNKS_AT_ONCE: usize = 10;

/// Number of chunks that one look for the end of a batch looks at again.
const CHUNKS_FOR_END: usize = 40;

/// Shortest time until the end of a batch is looked for again.
const LOOK_AGAIN_MIN: SignedDuration = SignedDuration::from_mins(1);

/// Longest time until the end of a batch is looked for again.
const LOOK_AGAIN_MAX: SignedDuration = SignedDuration::from_mins(15);

/// Number of reads of messages side by side.
pub(super) const READS_AT_ONCE: usize = 16;

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

/// The recipients that are looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecipientLook {
    /// Those whose status may change, and in a paused or cancelled batch those whose piece was cut off.
    Changing,
    /// Those whose delivery has not reached its end.
    Open,
}

impl RecipientLook {
    /// Returns the test of whether a recipient of a chunk is looked at again.
    fn includes(self, batch: &Batch, chunk: &BatchChunk) -> impl Fn(&BatchRecipient) -> bool + use<> {
        let is_cut_off = batch.is_cut_off_in(chunk.number);
        move |recipient| match self {
            Self::Changing => {
                let may_be_made = is_cut_off && recipient.status == RecipientStatus::Waiting;
                recipient.guest.is_some() && (recipient.status.may_change() || may_be_made)
            }
            Self::Open => recipient.is_open(),
        }
    }

    /// Returns `true` if some of a chunk's recipients are to be looked at, which was not done for a while.
    fn finds_stale(self, batch: &Batch, chunk: &BatchChunk, now: Timestamp) -> bool {
        !chunk.was_looked_at_within(add_duration(now, -COUNTED_FOR), now)
            && chunk.recipients.iter().any(self.includes(batch, chunk))
    }
}

/// Returns a batch and how far it is.
pub async fn find_batch(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    id: &BatchId,
) -> Result<BatchProgress, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let found = batch_records::find_batch(deps.store(), &tenant.id, id).await?;
    let batch = found.ok_or(InvitationError::NotFound("batch"))?.record;
    let looked_at = (RecipientLook::Changing, CHUNKS_AT_ONCE);
    let chunks = look_at_chunks(deps, caller, &batch, looked_at).await?;
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

/// Looks whether the deliveries of a batch have reached their ends, and finishes it then. `reconcile` comes back to one that has
/// not ended, the later the older it is.
pub(super) async fn look_for_end(
    deps: &Deps,
    caller: &Caller,
    mut found: Versioned<Batch>,
) -> PortResult<Verdict> {
    let looked_at = (RecipientLook::Open, CHUNKS_FOR_END);
    let chunks = look_at_chunks(deps, caller, &found.record, looked_at).await?;
    let (now, batch) = (deps.system().now(), &mut found.record);
    if chunks.iter().any(BatchChunk::is_open) {
        let age = now.duration_since(batch.send_at.unwrap_or(batch.created_at));
        batch.put_off(add_duration(
            now,
            (age / 10).clamp(LOOK_AGAIN_MIN, LOOK_AGAIN_MAX),
        ));
    } else {
        batch.finish(BatchCounts::count(&chunks, batch.state), now);
    }
    let written = write_record(deps.store(), &mut found).await?;
    if written == WriteOutcome::Conflict {
        return Ok(Verdict::RETRY_SOON);
    }
    let batch = found.record;
    if batch.end.is_some() {
        tracing::info!(batch_id = %batch.id, recipients = batch.recipients, "a batch is finished");
    }
    Ok(Verdict::Done)
}

/// Lists the batches of a tenant, the newest first.
pub async fn list_batches(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    page: &PageRequest,
) -> Result<Page<Batch>, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    Ok(batch_records::list_batches(deps.store(), &tenant.id, page).await?)
}

/// Reads the chunks of a batch, and looks again at those whose statuses are oldest: at so many at most.
async fn look_at_chunks(
    deps: &Deps,
    caller: &Caller,
    batch: &Batch,
    (look, most): (RecipientLook, usize),
) -> PortResult<Vec<BatchChunk>> {
    let mut chunks = batch_records::list_batch_chunks(deps.store(), &batch.tenant, &batch.id).await?;
    let now = deps.system().now();
    let mut stale: Vec<&mut Versioned<BatchChunk>> = chunks
        .iter_mut()
        .filter(|chunk| look.finds_stale(batch, &chunk.record, now))
        .collect();
    stale.sort_by_key(|chunk| chunk.record.counted_at);
    for chunk in stale.into_iter().take(most) {
        refresh_chunk(deps, caller, batch, chunk, look).await?;
    }
    Ok(chunks.into_iter().map(|chunk| chunk.record).collect())
}

/// Looks again at the recipients of a chunk, if some may have changed.
pub(super) async fn refresh_if_stale(
    deps: &Deps,
    caller: &Caller,
    batch: &Batch,
    chunk: &mut Versioned<BatchChunk>,
    look: RecipientLook,
) -> PortResult<()> {
    if look.finds_stale(batch, &chunk.record, deps.system().now()) {
        refresh_chunk(deps, caller, batch, chunk, look).await?;
    }
    Ok(())
}

/// Looks again at the recipients of a chunk, and stores their statuses.
async fn refresh_chunk(
    deps: &Deps,
    caller: &Caller,
    batch: &Batch,
    chunk: &mut Versioned<BatchChunk>,
    look: RecipientLook,
) -> PortResult<()> {
    let is_included = look.includes(batch, &chunk.record);
    let wanted = chunk.record.recipients.iter().enumerate();
    let mut places: Vec<(usize, InvitationId)> = wanted
        .filter(|(_, recipient)| is_included(recipient))
        .filter_map(|(place, recipient)| Some((place, batch.derive_invitation_id(recipient.guest.as_ref()?))))
        .collect();
    let ids: Vec<InvitationId> = places.iter().map(|(_, id)| id.clone()).collect();
    let read = read_invitations(deps.store(), &batch.tenant, &ids).await?;
    let read = read.into_iter().map(|found| found.record);
    let mut read: HashMap<InvitationId, Invitation> = read.map(|one| (one.id.clone(), one)).collect();
    if batch.state == BatchState::Paused {
        // What is not made yet still waits: it is made once the batch is resumed.
        let recipients = &chunk.record.recipients;
        let is_made = |id: &InvitationId| read.get(id).and_then(status_of).is_some();
        places.retain(|(place, id)| recipients[*place].status != RecipientStatus::Waiting || is_made(id));
    }
    let named = places.into_iter().map(|(place, id)| {
        let found = read.remove(&id);
        (place, id, found)
    });
    let statuses: Vec<(usize, Option<RecipientStatus>)> = stream::iter(named)
        .map(|(place, id, invitation)| async move {
            let status = match invitation {
                Some(invitation) => read_status(deps, caller, invitation, look).await?,
                None => read_missing_status(deps, &batch.tenant, &id).await?,
            };
            PortResult::Ok((place, status))
        })
        .buffer_unordered(READS_AT_ONCE)
        .try_collect()
        .await?;
    chunk.record.note_look(statuses, deps.system().now());
    if write_record(deps.store(), chunk).await? == WriteOutcome::Conflict {
        tracing::debug!(batch_id = %batch.id, "another request looked at the same recipients");
    }
    Ok(())
}

/// Reads whether an invitation that was not found is gone, which is `None`, or cannot be read.
async fn read_missing_status(
    deps: &Deps,
    tenant: &TenantId,
    id: &InvitationId,
) -> PortResult<Option<RecipientStatus>> {
    let found = find_invitation(deps.store(), tenant, id).await;
    match pass_over_unreadable(found.map(Some))? {
        Some(None) => Ok(None),
        Some(Some(_)) => Err(PortError::contended("invitation")),
        None => Ok(Some(InvitationStatus::Failed.into())),
    }
}

/// Reads what became of an invitation. `None`: its message is gone.
async fn read_status(
    deps: &Deps,
    caller: &Caller,
    invitation: Invitation,
    look: RecipientLook,
) -> PortResult<Option<RecipientStatus>> {
    if matches!(invitation.state, InvitationState::Refused { .. }) {
        return Ok(Some(RecipientStatus::Refused));
    }
    let waits = |at: Timestamp| at > deps.system().now();
    if look == RecipientLook::Open && invitation.not_before.is_some_and(waits) {
        // Its message need not be read to know that its end is ahead.
        return Ok(Some(InvitationStatus::Queued.into()));
    }
    let view = view_listed_invitation(deps, caller, invitation).await?;
    Ok(view.map(|view| view.status.into()))
}
