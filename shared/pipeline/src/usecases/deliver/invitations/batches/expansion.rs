//! Makes the invitations of a batch, piece by piece. The job of a piece names its first recipient. The next job is enqueued before
//! the piece is stored as done, so that a crash at any place leaves a job; a job of an earlier piece finds nothing to do.

use super::super::InvitationError;
use super::super::preparation::{InvitationFrame, find_frame};
use super::piece::{MadeInvitations, make_invitations};
use super::portfolio::{PortfolioBudget, find_budget};
use super::progress::look_for_end;
use super::recipient_request::request_of;
use crate::Deps;
use crate::deps::capabilities;
use crate::ports::{BatchRecords, InstanceStates, PortError, PortResult, System, WRITE_TRIES, WriteOutcome};
use crate::steps::batch_job::enqueue_batch;
use crate::steps::occasion_reminders::{end_reminder, find_planned};
use crate::steps::queue_message::{self, REQUEUE_AFTER_RECEIVES};
use crate::steps::verdict::Verdict;
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::{Caller, Scope, TokenRole};
use recado_domain::ids::BatchId;
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};
use recado_domain::invitations::{BATCH_CHUNK, Batch, BatchChunk, InvitationChannel, RecipientStatus};
use recado_domain::millis::add_duration;
use recado_domain::rate::Rate;
use recado_domain::wake_up::TurnJob;

/// Number of recipients of a piece of a batch of e-mails.
const EMAIL_STEP: usize = 50;

/// Time from one piece of a batch of e-mails to the next.
const EMAIL_PACE: SignedDuration = SignedDuration::from_secs(10);

/// Time until a batch is looked at again whose instance cannot send.
const NO_INSTANCE: SignedDuration = SignedDuration::from_mins(1);

/// Time from the last invitation of a batch to the first look for its end.
const END_LOOK: SignedDuration = SignedDuration::from_secs(30);

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
    let Some(batch) = found.filter(|batch| batch.is_expanding() || batch.is_ending()) else {
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
    if batch.is_ending() {
        return look_for_end(deps, &caller, batch).await;
    }
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
    let first = from % BATCH_CHUNK;
    let left = chunk.recipients.len().saturating_sub(first);
    let (count, next_at) = match reserve_room(deps, &batch, &frame, left).await? {
        BatchRoom::Reserved { count, next_at } => (count, next_at),
        BatchRoom::FreeAt(at) => return Ok(Verdict::retry_at(at, deps.system().now())),
        BatchRoom::NotOpen => return wait_for_instance(deps, batch).await,
        BatchRoom::NoPeople(free_at) => return wait_until(deps, batch, free_at).await,
    };
    let made = make_invitations(deps, &caller, (&batch, &frame), &chunk, first..first + count).await?;
    let after = from + count.max(1);
    let delay = if after < batch.recipients {
        next_at.duration_since(deps.system().now())
    } else {
        END_LOOK
    };
    enqueue_batch(deps, &batch, after, delay).await?;
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
        Ok(frame) if frame.bound.is_enabled() || batch.channel == InvitationChannel::Email => frame,
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

/// The room for the next piece of a batch, as it was found.
enum BatchRoom {
    /// So many recipients, and the piece after them begins then.
    Reserved {
        count: usize,
        next_at: Timestamp,
    },
    FreeAt(Timestamp),
    NotOpen,
    /// The portfolio wrote to as many people as it may, until then.
    NoPeople(Timestamp),
}

/// Reserves the room for at most `left` recipients. E-mails have a pace of their own: they use nothing of the WhatsApp number's rate.
async fn reserve_room(
    deps: &impl Deps,
    batch: &Batch,
    frame: &InvitationFrame,
    left: usize,
) -> PortResult<BatchRoom> {
    if batch.channel == InvitationChannel::Email {
        return Ok(BatchRoom::Reserved {
            count: left.min(EMAIL_STEP),
            next_at: add_duration(deps.system().now(), EMAIL_PACE),
        });
    }
    let bound = &frame.bound;
    let rate = bound
        .instance
        .resolve_rate(&capabilities(deps, bound), deps.settings().rate);
    let budget = find_budget(deps, batch, bound).await?;
    let count = rate
        .batch_step(deps.settings().batch_piece)
        .min(budget.as_ref().map_or(usize::MAX, PortfolioBudget::step_max))
        .min(left);
    let room = reserve_line(deps, frame, rate, count).await?;
    if matches!(room, BatchRoom::Reserved { .. })
        && let Some(budget) = &budget
        && let Some(free_at) = budget.reserve_people(deps, batch, count).await?
    {
        return Ok(BatchRoom::NoPeople(free_at));
    }
    Ok(room)
}

/// Reserves the line of the instance's batches for `count` messages.
async fn reserve_line(
    deps: &impl Deps,
    frame: &InvitationFrame,
    rate: Rate,
    count: usize,
) -> PortResult<BatchRoom> {
    let now = deps.system().now();
    let change = InstanceChange::ReserveBatch { rate, count, now };
    let (instance, seen) = (&frame.bound.instance.id, InstanceState::default());
    let changed = deps
        .store()
        .change_instance_state(instance, &seen, &change)
        .await?;
    let line = changed.state.batch_line.unwrap_or(now);
    Ok(if changed.done {
        BatchRoom::Reserved { count, next_at: line }
    } else if changed.state.connection == ConnectionStatus::Open {
        BatchRoom::FreeAt(line)
    } else {
        BatchRoom::NotOpen
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
