//! Tells how far batches are. What became of recipients is kept with them; what may have changed since is looked at again, a
//! bounded number at a time.

use crate::direct::status_of;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::Caller;
use recado_domain::ids::{BatchId, GuestId, InvitationId, TenantId};
use recado_domain::invitations::{
    BATCH_CHUNK, Batch, BatchChunk, BatchCounts, BatchRecipient, BatchState, Invitation, InvitationState,
    InvitationStatus, RecipientStatus,
};
use recado_domain::millis::add_duration;
use recado_invitations::InvitationError;
use recado_invitations::lookup::view_listed_invitation;
use recado_pipeline::Deps;
use recado_pipeline::steps::invited_tenant::choose_tenant;
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_pipeline::steps::verdict::Verdict;
use recado_ports::ports::{Page, PageRequest, PortError, PortResult, WriteOutcome};
use recado_ports::records::batches as batch_records;
use recado_ports::records::batches::find_batch_chunk;
use recado_ports::records::invitations::{find_invitation, read_invitations};
use recado_ports::table::{Versioned, write_record};
use std::collections::HashMap;

/// Time for which a status that was looked at counts as new.
const COUNTED_FOR: SignedDuration = SignedDuration::from_secs(30);

/// Number of chunks that one request looks at again.
pub(super) const CHUNKS_AT_ONCE: usize = 10;

/// Number of chunks that one check for the end of a batch looks at again.
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
pub(super) enum RecheckedRecipients {
    /// Those whose status may change, and in a paused or cancelled batch those whose piece was cut off.
    Changing,
    /// Those whose delivery has not reached its end.
    Open,
}

impl RecheckedRecipients {
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
    let looked_at = (RecheckedRecipients::Changing, CHUNKS_AT_ONCE);
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
    let looked_at = (RecheckedRecipients::Open, CHUNKS_FOR_END);
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
    (rechecked, most): (RecheckedRecipients, usize),
) -> PortResult<Vec<BatchChunk>> {
    let mut chunks = batch_records::list_batch_chunks(deps.store(), &batch.tenant, &batch.id).await?;
    let now = deps.system().now();
    let mut stale: Vec<&mut Versioned<BatchChunk>> = chunks
        .iter_mut()
        .filter(|chunk| rechecked.finds_stale(batch, &chunk.record, now))
        .collect();
    stale.sort_by_key(|chunk| chunk.record.counted_at);
    for chunk in stale.into_iter().take(most) {
        refresh_chunk(deps, caller, batch, chunk, rechecked).await?;
    }
    Ok(chunks.into_iter().map(|chunk| chunk.record).collect())
}

/// Looks again at the recipients of a chunk, and stores their statuses.
async fn refresh_chunk(
    deps: &Deps,
    caller: &Caller,
    batch: &Batch,
    chunk: &mut Versioned<BatchChunk>,
    rechecked: RecheckedRecipients,
) -> PortResult<()> {
    let is_included = rechecked.includes(batch, &chunk.record);
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
                Some(invitation) => read_status(deps, caller, invitation, rechecked).await?,
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
    rechecked: RecheckedRecipients,
) -> PortResult<Option<RecipientStatus>> {
    if matches!(invitation.state, InvitationState::Refused { .. }) {
        return Ok(Some(RecipientStatus::Refused));
    }
    let waits = |at: Timestamp| at > deps.system().now();
    if rechecked == RecheckedRecipients::Open && invitation.not_before.is_some_and(waits) {
        // Its message need not be read to know that its end is ahead.
        return Ok(Some(InvitationStatus::Queued.into()));
    }
    let view = view_listed_invitation(deps, caller, invitation).await?;
    Ok(view.map(|view| view.status.into()))
}

/// A recipient of a batch, as a list of them shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRecipient {
    /// The guest and the id of its invitation; `None` once the contact was erased.
    pub invited: Option<(GuestId, InvitationId)>,
    /// The status.
    pub status: RecipientStatus,
    /// Why it failed or was refused, or that the guest may have a cancelled one, without personal data.
    pub failure: Option<String>,
}

/// Lists the recipients of a batch in their order. If statuses are named, only those with one of them are listed. A page ends after
/// some chunks: it may be empty, and the next may not.
pub async fn list_batch_recipients(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    (id, wanted): (&BatchId, &[RecipientStatus]),
    page: &PageRequest,
) -> Result<Page<ListedRecipient>, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let found = batch_records::find_batch(deps.store(), &tenant.id, id).await?;
    let batch = found.ok_or(InvitationError::NotFound("batch"))?.record;
    let first = page.cursor.as_deref().map_or(Ok(0), str::parse::<usize>);
    let mut place = first.map_err(|_| InvitationError::Cursor)?;
    let mut items = Vec::new();
    for _ in 0..CHUNKS_AT_ONCE {
        if place >= batch.recipients || items.len() >= page.limit {
            break;
        }
        let number = place / BATCH_CHUNK;
        let chunk = find_batch_chunk(deps.store(), &tenant.id, id, number).await?;
        let Some(mut chunk) = chunk else { break };
        let rechecked = RecheckedRecipients::Changing;
        if rechecked.finds_stale(&batch, &chunk.record, deps.system().now()) {
            refresh_chunk(deps, caller, &batch, &mut chunk, rechecked).await?;
        }
        for recipient in chunk.record.recipients.iter().skip(place % BATCH_CHUNK) {
            if items.len() >= page.limit {
                break;
            }
            place += 1;
            let status = recipient.status.within(batch.state);
            if wanted.is_empty() || wanted.contains(&status) {
                items.push((recipient.guest.clone(), status));
            }
        }
    }
    Ok(Page {
        items: add_failures(deps, caller, &batch, items).await?,
        next_cursor: (place < batch.recipients).then(|| place.to_string()),
    })
}

/// Adds why deliveries failed.
async fn add_failures(
    deps: &Deps,
    caller: &Caller,
    batch: &Batch,
    items: Vec<(Option<GuestId>, RecipientStatus)>,
) -> PortResult<Vec<ListedRecipient>> {
    let mut listed: Vec<ListedRecipient> = items
        .into_iter()
        .map(|(guest, status)| ListedRecipient {
            invited: guest.map(|guest| (guest.clone(), batch.derive_invitation_id(&guest))),
            status,
            failure: None,
        })
        .collect();
    let told = |one: &&ListedRecipient| one.status.has_failed() || one.status.is_cancelled();
    let ids: Vec<InvitationId> = listed
        .iter()
        .filter(told)
        .filter_map(|one| Some(one.invited.as_ref()?.1.clone()))
        .collect();
    let read = read_invitations(deps.store(), &batch.tenant, &ids).await?;
    let failures: Vec<(InvitationId, Option<String>)> = stream::iter(read)
        .map(|found| async move {
            let id = found.record.id.clone();
            let view = view_listed_invitation(deps, caller, found.record).await?;
            PortResult::Ok((id, view.and_then(|view| view.explain_failure())))
        })
        .buffer_unordered(READS_AT_ONCE)
        .try_collect()
        .await?;
    let mut failures: HashMap<InvitationId, Option<String>> = failures.into_iter().collect();
    for one in &mut listed {
        let told = one.invited.as_ref().and_then(|(_, id)| failures.remove(id));
        one.failure = told.flatten();
    }
    Ok(listed)
}
