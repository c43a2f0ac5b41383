//! Makes the invitations of a batch, piece by piece. The job of a piece names its first recipient. The next job is enqueued before
//! the piece is stored as done, so that a crash at any place leaves a job; a job of an earlier piece finds nothing to do.

use super::super::preparation::{InvitationFrame, begin_invitation, find_frame, prepare_for_guest};
use super::super::{DeliverError, InvitationError, InvitationRequest, NamedGuest, resume, send_ready};
use super::portfolio::{PortfolioBudget, find_budget};
use crate::Deps;
use crate::deps::capabilities;
use crate::ports::{
    BatchRecords, InstanceStates, InvitationOutcome, InvitationRecords, PortError, PortResult, System,
    WRITE_TRIES, WriteOutcome,
};
use crate::steps::batch_job::enqueue_batch;
use crate::steps::occasion_reminders::{end_reminder, find_planned};
use crate::steps::queue_message::{self, REQUEUE_AFTER_RECEIVES};
use crate::steps::verdict::Verdict;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::{Caller, Scope, TokenRole};
use recado_domain::ids::{BatchId, GuestId, InvitationId};
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};
use recado_domain::invitations::{
    BATCH_CHUNK, Batch, BatchChunk, Guest, Invitation, InvitationState, RecipientStatus,
};
use recado_domain::millis::add_duration;
use recado_domain::rate::Rate;
use recado_domain::wake_up::TurnJob;
use std::collections::HashMap;

/// Number of invitations that are made side by side.
const AT_ONCE: usize = 8;

/// Time until a batch is looked at again whose instance cannot send.
const NO_INSTANCE: SignedDuration = SignedDuration::from_mins(1);

/// Number of receives up to which a job waits for the piece before it to be stored.
const EARLY_RECEIVES_MAX: u32 = 10;

/// Returns the job of a batch in a message of the queue `turns`; `None`: the message asks for a turn.
pub fn parse_batch_job(body: &str) -> Option<(TurnJob, BatchId)> {
    if !body.contains("\"batch\"") {
        return None;
    }
    let job: TurnJob = serde_json::from_str(body).ok()?;
    let batch = job.batch.clone()?;
    Some((job, batch))
}

/// Handles the job of a batch. `receives` is how often the queue has delivered it.
pub async fn handle_batch_job(deps: &impl Deps, (job, batch): (TurnJob, BatchId), receives: u32) -> Verdict {
    let worked = Box::pin(expand_next_piece(deps, &job, &batch, receives)).await;
    queue_message::decide_verdict(deps, worked, &deps.settings().turns_backoff, receives)
}

async fn expand_next_piece(
    deps: &impl Deps,
    job: &TurnJob,
    id: &BatchId,
    receives: u32,
) -> PortResult<Verdict> {
    let found = deps.store().find_batch(&job.tenant, id).await?;
    let Some(batch) = found.filter(Batch::is_expanding) else {
        return Ok(Verdict::Done);
    };
    let from = usize::try_from(job.ordinal.0).unwrap_or(usize::MAX);
    if from < batch.expanded || (from > batch.expanded && receives > EARLY_RECEIVES_MAX) {
        return Ok(Verdict::Done);
    }
    if from > batch.expanded {
        return Ok(Verdict::RETRY_SOON);
    }
    if receives >= REQUEUE_AFTER_RECEIVES {
        enqueue_batch(deps, &batch, from, SignedDuration::ZERO).await?;
        return Ok(Verdict::Done);
    }
    let caller = build_batch_caller(&batch);
    let (batch, frame) = match find_working_frame(deps, &caller, batch).await? {
        Ok(found) => found,
        Err(verdict) => return Ok(verdict),
    };
    let number = from / BATCH_CHUNK;
    let chunk = deps
        .store()
        .find_batch_chunk(&batch.tenant, &batch.id, number)
        .await?;
    let Some(chunk) = chunk else {
        return Err(PortError::invalid("batch", "its recipients are gone"));
    };
    let rate = frame
        .bound
        .instance
        .resolve_rate(&capabilities(deps, &frame.bound), deps.settings().rate);
    let first = from % BATCH_CHUNK;
    let budget = find_budget(deps, &batch, &frame.bound).await?;
    let count = rate
        .batch_step()
        .min(budget.as_ref().map_or(usize::MAX, PortfolioBudget::step_max))
        .min(chunk.recipients.len().saturating_sub(first));
    let next_at = match reserve_line(deps, &frame, rate, count).await? {
        BatchLine::Reserved(until) => until,
        BatchLine::FreeAt(at) => return Ok(Verdict::retry_at(at, deps.system().now())),
        BatchLine::NotOpen => return wait_for_instance(deps, batch).await,
    };
    if let Some(budget) = &budget
        && let Some(free_at) = budget.reserve_people(deps, &batch, count).await?
    {
        return wait_until(deps, batch, free_at).await;
    }
    let made = make_invitations(deps, &caller, (&batch, &frame), &chunk, first..first + count).await?;
    let after = from + count.max(1);
    if after < batch.recipients {
        let delay = next_at.duration_since(deps.system().now());
        enqueue_batch(deps, &batch, after, delay).await?;
    }
    store_statuses(deps, chunk, &made).await?;
    store_progress(deps, batch, after).await?;
    Ok(Verdict::Done)
}

/// Builds the caller in whose name the invitations of a batch are sent.
fn build_batch_caller(batch: &Batch) -> Caller {
    Caller {
        name: batch.by.clone(),
        role: TokenRole::Sender,
        scope: Scope::Tenant(batch.tenant.clone()),
        request: None,
    }
}

/// Finds what a batch names, if it works. `Err`: it waits or ends, and this is the verdict on its job.
async fn find_working_frame(
    deps: &impl Deps,
    caller: &Caller,
    batch: Batch,
) -> PortResult<Result<(Batch, InvitationFrame), Verdict>> {
    let frame = match find_frame(deps, caller, &request_of(&batch, None)?).await {
        Ok(frame) if frame.bound.is_enabled() => frame,
        Ok(_) => return wait_for_instance(deps, batch).await.map(Err),
        Err(InvitationError::Port(error)) => return Err(error),
        Err(error) => {
            tracing::warn!(batch_id = %batch.id, %error, "a batch waits: what it names is gone");
            return wait_for_instance(deps, batch).await.map(Err);
        }
    };
    let now = deps.system().now();
    if batch.reminder.is_none() || find_planned(&frame.tenant, &frame.occasion, &batch, now).is_some() {
        return Ok(Ok((batch, frame)));
    }
    let is_ended = end_reminder(deps, batch).await?;
    Ok(Err(if is_ended {
        Verdict::Done
    } else {
        Verdict::RETRY_SOON
    }))
}

/// The line of an instance's batches, as it was found.
enum BatchLine {
    Reserved(Timestamp),
    FreeAt(Timestamp),
    NotOpen,
}

/// Reserves the line of the instance's batches for `count` messages.
async fn reserve_line(
    deps: &impl Deps,
    frame: &InvitationFrame,
    rate: Rate,
    count: usize,
) -> PortResult<BatchLine> {
    let now = deps.system().now();
    let change = InstanceChange::ReserveBatch { rate, count, now };
    let (instance, seen) = (&frame.bound.instance.id, InstanceState::default());
    let changed = deps
        .store()
        .change_instance_state(instance, &seen, &change)
        .await?;
    let line = changed.state.batch_line.unwrap_or(now);
    Ok(if changed.done {
        BatchLine::Reserved(line)
    } else if changed.state.connection == ConnectionStatus::Open {
        BatchLine::FreeAt(line)
    } else {
        BatchLine::NotOpen
    })
}

/// Ends the job of a batch whose instance cannot send. `reconcile` comes back to the batch.
async fn wait_for_instance(deps: &impl Deps, batch: Batch) -> PortResult<Verdict> {
    let again = add_duration(deps.system().now(), NO_INSTANCE);
    wait_until(deps, batch, again).await
}

/// Ends the job of a batch to which `reconcile` comes back at `at`.
async fn wait_until(deps: &impl Deps, mut batch: Batch, at: Timestamp) -> PortResult<Verdict> {
    batch.put_off(at);
    Ok(match deps.store().save_batch(&batch).await? {
        WriteOutcome::Written => Verdict::Done,
        WriteOutcome::Conflict => Verdict::RETRY_SOON,
    })
}

/// Returns the request for one of the batch's guests. Without a guest, returns the one that only names what is common to all.
fn request_of(batch: &Batch, guest: Option<&GuestId>) -> PortResult<InvitationRequest> {
    let nobody = || GuestId::parse("nobody").map_err(|error| PortError::invalid("batch", error));
    Ok(InvitationRequest {
        tenant: Some(batch.tenant.clone()),
        occasion: batch.occasion.clone(),
        guest: NamedGuest::Id(guest.cloned().map_or_else(nobody, Ok)?),
        channel: batch.channel,
        template: batch.template.clone(),
        variables: batch.variables.clone(),
        metadata: batch.metadata.clone(),
        send_at: None,
        key: None,
        correlation: batch.correlation.clone(),
    })
}

/// The statuses of recipients, by their places in their chunk.
type MadeInvitations = Vec<(usize, RecipientStatus)>;

/// Makes the invitations of a piece. Those that a crash left are found and gone on with.
async fn make_invitations(
    deps: &impl Deps,
    caller: &Caller,
    (batch, frame): (&Batch, &InvitationFrame),
    chunk: &BatchChunk,
    piece: std::ops::Range<usize>,
) -> PortResult<MadeInvitations> {
    let waiting: Vec<(usize, GuestId)> = chunk.recipients[piece.clone()]
        .iter()
        .zip(piece)
        .filter(|(recipient, _)| recipient.status == RecipientStatus::Waiting)
        .filter_map(|(recipient, place)| Some((place, recipient.guest.clone()?)))
        .collect();
    let ids: Vec<InvitationId> = waiting
        .iter()
        .map(|(_, guest)| batch.derive_invitation_id(guest))
        .collect();
    let guests: Vec<GuestId> = waiting.iter().map(|(_, guest)| guest.clone()).collect();
    let (store, tenant) = (deps.store(), &batch.tenant);
    let known = store.read_invitations(tenant, &ids).await?.into_iter();
    let known: HashMap<InvitationId, Invitation> = known.map(|one| (one.id.clone(), one)).collect();
    let found = store
        .read_guests(tenant, &batch.occasion, &guests)
        .await?
        .into_iter();
    let found: HashMap<GuestId, Guest> = found.map(|guest| (guest.id.clone(), guest)).collect();
    stream::iter(waiting.into_iter().zip(ids))
        .map(|((place, guest), id)| {
            let (known, named) = (known.get(&id).cloned(), found.get(&guest).cloned());
            async move {
                let made = invite_recipient(deps, caller, (batch, frame), &guest, (known, named, id));
                Ok((place, Box::pin(made).await?))
            }
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

async fn invite_recipient(
    deps: &impl Deps,
    caller: &Caller,
    (batch, frame): (&Batch, &InvitationFrame),
    guest: &GuestId,
    (known, named, id): (Option<Invitation>, Option<Guest>, InvitationId),
) -> PortResult<RecipientStatus> {
    if let Some(status) = known.as_ref().and_then(status_of) {
        return Ok(status);
    }
    let request = request_of(batch, Some(guest))?;
    let ready = match named {
        Some(named) => prepare_for_guest(deps, frame, request.clone(), (named, false), id.clone()).await,
        None => Err(InvitationError::NotFound("guest")),
    };
    let sent = match ready {
        Ok(mut ready) => {
            ready.join_batch(batch);
            if let Some(known) = known {
                // A crash left it without its message.
                resume(deps, caller, &ready, known).await
            } else {
                let sent = send_ready(deps, caller, &ready, None).await;
                sent.map(|accepted| accepted.invitation)
            }
        }
        Err(InvitationError::Port(error)) => return Err(error),
        Err(error) => {
            let is_stored = known.is_some();
            let refused = known.unwrap_or_else(|| begin_invitation(deps, frame, &request, guest, id));
            return store_refusal(deps, refused, is_stored, &error).await;
        }
    };
    match sent {
        Ok(invitation) => Ok(status_of(&invitation).unwrap_or(RecipientStatus::Queued)),
        Err(InvitationError::Port(error) | InvitationError::Deliver(DeliverError::Port(error))) => Err(error),
        Err(InvitationError::Deliver(DeliverError::Busy)) => Err(PortError::contended("conversation")),
        Err(_) => Ok(RecipientStatus::Refused),
    }
}

/// Returns the status of a recipient whose invitation is stored; `None` if it is to be made a message yet.
fn status_of(invitation: &Invitation) -> Option<RecipientStatus> {
    match invitation.state {
        InvitationState::Taken => None,
        InvitationState::Message { .. } | InvitationState::Email { .. } => Some(RecipientStatus::Queued),
        InvitationState::Duplicate { .. } => Some(RecipientStatus::Duplicate),
        InvitationState::Refused { .. } => Some(RecipientStatus::Refused),
    }
}

/// Stores that a guest cannot be invited, and why. `is_stored`: a crash left the invitation.
async fn store_refusal(
    deps: &impl Deps,
    mut invitation: Invitation,
    is_stored: bool,
    error: &InvitationError,
) -> PortResult<RecipientStatus> {
    invitation.state = InvitationState::Refused {
        error: error.to_string(),
    };
    let written = if is_stored {
        invitation.rev += 1;
        deps.store().save_invitation(&invitation).await? == WriteOutcome::Written
    } else {
        let now = deps.system().now();
        let begun = deps.store().begin_invitation(&invitation, &[], now).await?;
        begun == InvitationOutcome::Begun
    };
    written
        .then_some(RecipientStatus::Refused)
        .ok_or_else(|| PortError::contended("invitation"))
}

/// Stores what became of the recipients of a chunk.
async fn store_statuses(deps: &impl Deps, mut chunk: BatchChunk, made: &MadeInvitations) -> PortResult<()> {
    for _ in 0..WRITE_TRIES {
        for (place, status) in made {
            let recipient = chunk.recipients.get_mut(*place);
            if let Some(waiting) = recipient.filter(|one| one.status == RecipientStatus::Waiting) {
                waiting.status = *status;
            }
        }
        chunk.rev += 1;
        if deps.store().save_batch_chunk(&chunk).await? == WriteOutcome::Written {
            return Ok(());
        }
        let (tenant, batch) = (&chunk.tenant, &chunk.batch);
        let stored = deps.store().find_batch_chunk(tenant, batch, chunk.number).await?;
        chunk = stored.ok_or_else(|| PortError::invalid("batch", "its recipients are gone"))?;
    }
    Err(PortError::contended("recipients of a batch"))
}

/// Stores how far a batch is expanded. An order that came meanwhile stays.
async fn store_progress(deps: &impl Deps, mut batch: Batch, expanded: usize) -> PortResult<()> {
    for _ in 0..WRITE_TRIES {
        batch.record_step(expanded, deps.system().now());
        if deps.store().save_batch(&batch).await? == WriteOutcome::Written {
            return Ok(());
        }
        let Some(stored) = deps.store().find_batch(&batch.tenant, &batch.id).await? else {
            return Ok(());
        };
        if stored.expanded >= expanded {
            return Ok(());
        }
        batch = stored;
    }
    Err(PortError::contended("batch"))
}
