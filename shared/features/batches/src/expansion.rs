//! Makes the invitations of a batch, piece by piece. The job of a piece names its first recipient. The next job is enqueued before
//! the piece is stored as done, so that a crash at any place leaves a job; a job of an earlier piece finds nothing to do.

use crate::batch_job::enqueue_batch;
use crate::piece::{MadeInvitations, make_invitations};
use crate::progress::look_for_end;
use crate::request_of;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::{Caller, Scope, TokenRole};
use recado_domain::config::InstanceConfig;
use recado_domain::ids::{BatchId, InstanceId, TenantId};
use recado_domain::instance::{CAMPAIGN_SHARE, ConnectionStatus, InstanceChange, MessagingLimit};
use recado_domain::invitations::{BATCH_CHUNK, Batch, BatchChunk, BatchState, InvitationChannel};
use recado_domain::millis::add_duration;
use recado_domain::wake_up::{BatchJob, TurnsJob};
use recado_invitations::InvitationError;
use recado_invitations::preparation::{InvitationContext, find_context};
use recado_occasions::occasion_reminders::{end_reminder, find_planned};
use recado_pipeline::Deps;
use recado_pipeline::deps::capabilities;
use recado_pipeline::hooks::job_handler::JobHandler;
use recado_pipeline::steps::enabled_instance::change_unread_state;
use recado_pipeline::steps::verdict::Verdict;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};
use recado_ports::records::batches::{find_batch, find_batch_chunk};
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};

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

/// The reason why the job of a batch makes no invitations.
enum JobStop {
    /// There is nothing to make now, and this is the verdict on the job.
    Ended(Verdict),
    /// A store or a queue failed: the job comes back.
    Failed(PortError),
}

impl From<Verdict> for JobStop {
    fn from(verdict: Verdict) -> Self {
        Self::Ended(verdict)
    }
}

impl From<PortError> for JobStop {
    fn from(error: PortError) -> Self {
        Self::Failed(error)
    }
}

/// The jobs that expand batches.
#[derive(Debug)]
pub struct BatchJobs;

impl JobHandler for BatchJobs {
    fn handle_turns_job<'a>(
        &self,
        deps: &'a Deps,
        job: &'a TurnsJob,
        receives: u32,
    ) -> Option<BoxFuture<'a, PortResult<Verdict>>> {
        match job {
            TurnsJob::Batch(job) => Some(Box::pin(handle_batch_job(deps, job, receives))),
            TurnsJob::Turn(_) | TurnsJob::AgentReturn(_) | TurnsJob::File(_) => None,
        }
    }
}

/// Handles the job of a batch. `receives` is how often the queue has delivered it.
async fn handle_batch_job(deps: &Deps, job: &BatchJob, receives: u32) -> PortResult<Verdict> {
    match expand_next_piece(deps, job, receives).await {
        Ok(()) => Ok(Verdict::Done),
        Err(JobStop::Ended(verdict)) => Ok(verdict),
        Err(JobStop::Failed(error)) => Err(error),
    }
}

async fn expand_next_piece(deps: &Deps, job: &BatchJob, receives: u32) -> Result<(), JobStop> {
    let from = job.from;
    let found = find_next_batch(deps, job, receives).await?;
    let batch = &found.record;
    let caller = build_batch_caller(batch);
    if batch.is_ending() {
        return Err(look_for_end(deps, &caller, found).await?.into());
    }
    let context = find_working_context(deps, &caller, &found).await?;
    let chunk = find_recipients(deps, (&batch.tenant, &batch.id), from / BATCH_CHUNK).await?;
    let first = from % BATCH_CHUNK;
    let left = chunk.record.recipients.len().saturating_sub(first);
    let (count, next_at) = take_room(deps, &found, &context, left).await?;
    let piece = first..first + count;
    let made = make_invitations(deps, &caller, (batch, &context), &chunk.record, piece).await?;
    let after = from + count.max(1);
    let delay = if after < batch.recipients {
        next_at.duration_since(deps.system().now())
    } else {
        END_LOOK
    };
    enqueue_batch(deps, batch, after, delay).await?;
    store_statuses(deps, chunk, &made).await?;
    store_progress(deps, found, after).await?;
    Ok(())
}

/// Finds the batch of a job. A job of an earlier piece ends; one of a later piece waits for the pieces before it, for
/// [`EARLY_RECEIVES_MAX`] receives.
async fn find_next_batch(deps: &Deps, job: &BatchJob, receives: u32) -> Result<Versioned<Batch>, JobStop> {
    let found = find_batch(deps.store(), &job.tenant, &job.batch).await?;
    let is_early = |found: &Versioned<Batch>| job.from > found.record.expanded;
    let is_next = |batch: &Batch| batch.state == BatchState::Running && job.from >= batch.expanded;
    match found.filter(|found| is_next(&found.record)) {
        None => Err(Verdict::Done.into()),
        Some(found) if is_early(&found) && receives > EARLY_RECEIVES_MAX => Err(Verdict::Done.into()),
        Some(found) if is_early(&found) => Err(Verdict::RETRY_SOON.into()),
        Some(found) => Ok(found),
    }
}

/// Finds a chunk of a batch's recipients.
async fn find_recipients(
    deps: &Deps,
    (tenant, batch): (&TenantId, &BatchId),
    number: usize,
) -> PortResult<Versioned<BatchChunk>> {
    let found = find_batch_chunk(deps.store(), tenant, batch, number).await?;
    found.ok_or_else(|| PortError::invalid("batch", "its recipients are gone"))
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

/// Finds what a batch names, if it works; else the batch waits or ends.
async fn find_working_context(
    deps: &Deps,
    caller: &Caller,
    found: &Versioned<Batch>,
) -> Result<InvitationContext, JobStop> {
    let batch = &found.record;
    let context = match find_context(deps, caller, &request_of(batch, None)?).await {
        Ok(context) if context.bound.is_enabled() || batch.channel == InvitationChannel::Email => context,
        Ok(_) => return Err(wait_for_instance(deps, found).await?.into()),
        Err(InvitationError::Port(error)) => return Err(error.into()),
        Err(error) => {
            tracing::warn!(batch_id = %batch.id, %error, "a batch waits: what it names is gone");
            return Err(wait_for_instance(deps, found).await?.into());
        }
    };
    let now = deps.system().now();
    if batch.reminder.is_none() || find_planned(&context.tenant, &context.occasion, batch, now).is_some() {
        return Ok(context);
    }
    let is_ended = end_reminder(deps, found.clone()).await?;
    let verdict = if is_ended {
        Verdict::Done
    } else {
        Verdict::RETRY_SOON
    };
    Err(verdict.into())
}

/// Reserves the room for at most `left` recipients, or has the batch wait for it. Returns how many recipients there is room for, and when
/// the piece after them begins.
async fn take_room(
    deps: &Deps,
    found: &Versioned<Batch>,
    context: &InvitationContext,
    left: usize,
) -> Result<(usize, Timestamp), JobStop> {
    let batch = &found.record;
    if batch.channel == InvitationChannel::Email {
        return Ok((
            left.min(EMAIL_STEP),
            add_duration(deps.system().now(), EMAIL_PACE),
        ));
    }
    let bound = &context.bound;
    let rate = bound
        .instance
        .resolve_rate(&capabilities(deps, bound), deps.settings().rate);
    let budget = find_budget(deps, batch, bound).await?;
    let count = rate
        .batch_step(deps.settings().batch_piece)
        .min(budget.as_ref().map_or(usize::MAX, PortfolioBudget::step_max))
        .min(left);
    let now = deps.system().now();
    let change = InstanceChange::ReserveBatch { rate, count, now };
    let changed = change_unread_state(deps, &bound.instance.id, &change).await?;
    let line = changed.state.batch_line.unwrap_or(now);
    if !changed.done {
        return Err(if changed.state.connection == ConnectionStatus::Open {
            Verdict::retry_at(line, deps.system().now()).into()
        } else {
            wait_for_instance(deps, found).await?.into()
        });
    }
    if let Some(budget) = &budget
        && let Some(free_at) = budget.reserve_people(deps, batch, count).await?
    {
        return Err(wait_until(deps, found, free_at).await?.into());
    }
    Ok((count, line))
}

/// Ends the job of a batch whose instance cannot send. `reconcile` comes back to the batch.
async fn wait_for_instance(deps: &Deps, found: &Versioned<Batch>) -> PortResult<Verdict> {
    let again = add_duration(deps.system().now(), NO_INSTANCE);
    wait_until(deps, found, again).await
}

/// Ends the job of a batch to which `reconcile` comes back at `at`.
async fn wait_until(deps: &Deps, found: &Versioned<Batch>, at: Timestamp) -> PortResult<Verdict> {
    let mut batch = found.clone();
    batch.record.put_off(at);
    Ok(match write_record(deps.store(), &mut batch).await? {
        WriteOutcome::Written => Verdict::Done,
        WriteOutcome::Conflict => Verdict::RETRY_SOON,
    })
}

/// Stores what became of the recipients of a chunk.
async fn store_statuses(deps: &Deps, chunk: Versioned<BatchChunk>, made: &MadeInvitations) -> PortResult<()> {
    let contended = PortError::contended("recipients of a batch");
    retry_lost_write(contended, chunk, |mut chunk| async move {
        chunk.record.note_made(made);
        if write_record(deps.store(), &mut chunk).await? == WriteOutcome::Written {
            return Ok(WriteAttempt::Done(()));
        }
        let known = &chunk.record;
        let stored = find_recipients(deps, (&known.tenant, &known.batch), known.number).await?;
        Ok(WriteAttempt::Lost(stored))
    })
    .await
}

/// Stores how far a batch is expanded. An order that came meanwhile stays.
async fn store_progress(deps: &Deps, batch: Versioned<Batch>, expanded: usize) -> PortResult<()> {
    retry_lost_write(PortError::contended("batch"), batch, |mut batch| async move {
        batch.record.record_step(expanded, deps.system().now());
        if write_record(deps.store(), &mut batch).await? == WriteOutcome::Written {
            return Ok(WriteAttempt::Done(()));
        }
        let stored = find_batch(deps.store(), &batch.record.tenant, &batch.record.id).await?;
        let behind = stored.filter(|stored| stored.record.expanded < expanded);
        Ok(behind.map_or(WriteAttempt::Done(()), WriteAttempt::Lost))
    })
    .await
}

/// Longest time until a batch that waits for people asks again: the limit may rise.
const ASK_AGAIN: SignedDuration = SignedDuration::from_hours(1);

/// The budget of a portfolio whose limit is known.
pub(super) struct PortfolioBudget {
    budget_owner: InstanceId,
    limit: u32,
}

impl PortfolioBudget {
    /// Returns the greatest number of people of one piece of a batch.
    pub(super) fn step_max(&self) -> usize {
        let share = u64::from(self.limit) * CAMPAIGN_SHARE / 100;
        usize::try_from(share.max(1)).unwrap_or(usize::MAX)
    }

    /// Reserves people for a piece of a batch. `Some`: there is no room, and the batch asks again then.
    pub(super) async fn reserve_people(
        &self,
        deps: &Deps,
        batch: &Batch,
        count: usize,
    ) -> PortResult<Option<Timestamp>> {
        let (limit, now) = (self.limit, deps.system().now());
        let change = InstanceChange::ReservePeople { limit, count, now };
        let changed = change_unread_state(deps, &self.budget_owner, &change).await?;
        if changed.done {
            return Ok(None);
        }
        let mut campaigns = changed.state.campaigns;
        let free_at = campaigns.reserve_people(limit, count, now).err();
        tracing::info!(batch_id = %batch.id, limit, "a batch waits: its portfolio wrote to as many people in 24 hours as it may");
        let again = add_duration(now, ASK_AGAIN);
        Ok(Some(free_at.map_or(now, |at| at.min(again))))
    }
}

/// Finds the budget of the portfolio to which an instance belongs. `None`: the batch needs none, its limit is not known, or there is
/// none.
pub(super) async fn find_budget(
    deps: &Deps,
    batch: &Batch,
    bound: &InstanceConfig,
) -> PortResult<Option<PortfolioBudget>> {
    if batch.channel != InvitationChannel::Whatsapp || !capabilities(deps, bound).has_service_window {
        return Ok(None);
    }
    let budget_owner = find_budget_owner(deps, bound).await?;
    let limit = find_limit(deps, bound, &budget_owner).await?;
    Ok(limit.map(|limit| PortfolioBudget { budget_owner, limit }))
}

/// Returns the instance that keeps the budget: the one that the configuration names, if it is of the same tenant, else the number's
/// own.
async fn find_budget_owner(deps: &Deps, bound: &InstanceConfig) -> PortResult<InstanceId> {
    let own = &bound.instance.id;
    let named = bound
        .instance
        .portfolio
        .as_ref()
        .and_then(|one| one.instance.as_ref());
    let Some(named) = named.filter(|named| *named != own) else {
        return Ok(own.clone());
    };
    let found = find_config_by_id(deps.store(), named).await?;
    let found = found.filter(|found| found.tenant.id == bound.tenant.id);
    Ok(found.map_or_else(|| own.clone(), |found| found.instance.id.clone()))
}

/// Returns the limit: the configured one, else the lowest that Meta told of the number and of the budget's owner. `None`: it is not known, or
/// there is none.
async fn find_limit(
    deps: &Deps,
    bound: &InstanceConfig,
    budget_owner: &InstanceId,
) -> PortResult<Option<u32>> {
    let configured = bound
        .instance
        .portfolio
        .as_ref()
        .and_then(|one| one.people_per_day);
    if configured.is_some() {
        return Ok(configured);
    }
    let ids = [bound.instance.id.clone(), budget_owner.clone()];
    let states = deps.store().read_instance_states(&ids).await?;
    let told = states.values().filter_map(|state| state.standing?.limit);
    Ok(told.min().and_then(MessagingLimit::people))
}
