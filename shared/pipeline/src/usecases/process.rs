//! The `processor` function: applies the events of the queue `inbound` and enqueues what follows from them.
//!
//! An event goes one way. Its job is read, its earlier attempts are looked at, and its instance is found. Its body is read, and what
//! it is about is found (`resolve`). Its message is stored (`message`, `operator_message`), and the event is finished. The rules
//! that [`crate::Features`] lists say what a message means for each feature: this folder names none of them.
//!
//! If a worker ends without a report, its attempt stays counted. If it reports that the event waits, or that a store or queue
//! failed, the attempt is taken back.

mod delivery_failure;
mod message;
mod operator_message;
mod resolve;

use crate::Deps;
use crate::measure;
use crate::steps::give_up::give_up_event;
use crate::steps::inbound_arrival::{InboundArrival, InstanceEvent, event_period};
use crate::steps::queue_message::{self, REQUEUE_AFTER_RECEIVES, format_error_chain};
use crate::steps::trace_span::continue_trace;
use crate::steps::verdict::Verdict;
use crate::steps::webhook_file::delete_unneeded_webhook_file;
use crate::steps::{connection, wake_up};
use crate::usecases::process::resolve::{ResolvedEvent, resolve_event};
use futures::future::BoxFuture;
use jiff::SignedDuration;
use recado_domain::config::{InstanceConfig, Tenant};
use recado_domain::dead_letter::QueueName;
use recado_domain::event::{
    EventKind, EventPayload, EventRecord, EventState, FollowUpJob, InboundJob, LOOKALIKE_DEDUP,
    ProcessingRecord,
};
use recado_domain::inbound::InboundEvent;
use recado_domain::millis::add_duration;
use recado_domain::reason::Reason;
use recado_ports::ports::{EventChange, EventFinish, PortError, PortResult};
use recado_ports::records::configuration::find_config_by_external;
use recado_ports::records::dead_letters::remove_dead_letter;
use recado_ports::records::removed_instances::was_instance_removed;
use std::sync::Arc;
use tracing::Instrument;

/// Processes one message of the queue `inbound`, received for the `receives`th time. The future is boxed, so that this crate compiles it.
pub fn process<'a>(deps: &'a Deps, body: &'a str, receives: u32) -> BoxFuture<'a, Verdict> {
    Box::pin(process_message(deps, body, receives))
}

async fn process_message(deps: &Deps, body: &str, receives: u32) -> Verdict {
    let job: InboundJob = match queue_message::parse_queue_message(deps, QueueName::Inbound, body).await {
        Ok(job) => job,
        Err(verdict) => return verdict,
    };
    let span = tracing::info_span!(
        "process", event_id = %job.event, correlation_id = %job.correlation, instance = %job.external, receives
    );
    continue_trace(&span, &job.correlation, job.parent);
    async {
        // Boxed to keep the future small: thousands of them may wait side by side.
        let began_at = deps.system().now();
        let worked = Box::pin(apply_event(deps, &job, receives)).await;
        if matches!(worked, Ok(Verdict::Done)) {
            let took = deps.system().now().duration_since(began_at).as_secs_f64();
            tracing::info!(kind = ?job.kind, seconds = took, "event processed");
        }
        queue_message::decide_verdict(deps, worked, &deps.settings().inbound_backoff, receives)
    }
    .instrument(span)
    .await
}

/// Applies the event of a job, unless nothing is left to do for it.
async fn apply_event(deps: &Deps, job: &InboundJob, receives: u32) -> PortResult<Verdict> {
    if receives >= REQUEUE_AFTER_RECEIVES && queue_message::reenqueue_event(deps, job).await? {
        return Ok(Verdict::Done);
    }
    if !is_to_be_applied(deps, job, receives).await? {
        return Ok(Verdict::Done);
    }
    let Some(bound) = find_instance_or_settle(deps, job).await? else {
        return Ok(Verdict::Done);
    };
    if receives > 1 {
        return Box::pin(handle_counted_attempt(deps, job, &bound, receives)).await;
    }
    handle_event(deps, job, &bound, receives).await
}

/// Returns `true` if the event is still to be applied. A redriven event becomes pending again.
async fn is_to_be_applied(deps: &Deps, job: &InboundJob, receives: u32) -> PortResult<bool> {
    let Some(failed_at) = job.redrive else {
        let may_be_settled = receives > 1 || job.kind != EventKind::Message;
        return Ok(!may_be_settled || !is_settled_event(deps, job).await?);
    };
    let revival = EventChange::Revive { failed_at };
    let revived = deps.store().change_event(&job.event, revival).await?;
    // The dead letter is removed also if the event was revived before: a crash may have happened between the two
    // writes.
    remove_dead_letter(deps.store(), job.event.as_str(), failed_at).await?;
    Ok(revived || !is_settled_event(deps, job).await?)
}

/// Returns `true` if the event is no longer pending. The turn job of an applied event is sent again: a crash may have
/// prevented it.
async fn is_settled_event(deps: &Deps, job: &InboundJob) -> PortResult<bool> {
    let Some(record) = deps.store().find_event(&job.event).await? else {
        return Ok(true);
    };
    if record.state == EventState::Applied {
        resend_turn(deps, job, &record).await?;
    }
    Ok(record.state != EventState::Pending)
}

/// Sends the turn job of an applied event again. The event was finished before the job was sent.
async fn resend_turn(deps: &Deps, job: &InboundJob, record: &EventRecord) -> PortResult<()> {
    let follow_up = record.processed.map(|processed| processed.enqueued);
    let (Some(FollowUpJob::Turn(_)), Some(place)) = (follow_up, &record.stored) else {
        return Ok(());
    };
    let Some(bound) = find_config_by_external(deps.store(), job.provider, &job.external).await? else {
        // Without an instance nobody answers.
        return Ok(());
    };
    let silence = wake_up::resolve_debounce(deps, &bound).silence_after_unknown();
    wake_up::enqueue_reply_turn(deps, job, &bound, place, silence).await
}

/// Returns the event's instance. `None`: the instance is not configured, not enabled or was another tenant's when the event arrived, and
/// the event is settled without it.
async fn find_instance_or_settle(deps: &Deps, job: &InboundJob) -> PortResult<Option<Arc<InstanceConfig>>> {
    let store = deps.store();
    let Some(bound) = find_config_by_external(store, job.provider, &job.external).await? else {
        if was_instance_removed(store, job.provider, &job.external).await? {
            tracing::info!("event of a removed instance ignored");
            ignore_event(deps, job, (None, None)).await?;
            return Ok(None);
        }
        tracing::warn!("event of an instance that is not configured");
        give_up_event(deps, job, Reason::UnknownInstance, 1, None).await?;
        return Ok(None);
    };
    if !bound.is_enabled() {
        tracing::info!(instance_id = %bound.instance.id, "event of a disabled instance ignored");
        ignore_event(deps, job, (Some(&bound.tenant), None)).await?;
        return Ok(None);
    }
    let now = deps.system().now();
    if bound.instance.had_other_tenant(job.received_at, now) {
        tracing::warn!(instance_id = %bound.instance.id, "event from when another tenant had the instance ignored");
        ignore_event(deps, job, (None, Some(Reason::UnknownInstance))).await?;
        return Ok(None);
    }
    Ok(Some(bound))
}

/// Processes an event that was received before. The attempt is counted before the event's body is read, and no other
/// event is retried in this process meanwhile. So if the event ends the process, no other event loses an attempt.
async fn handle_counted_attempt(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    receives: u32,
) -> PortResult<Verdict> {
    let _alone = deps.retry_lock.acquire_lock().await;
    let record = deps.store().find_event(&job.event).await?;
    let Some(record) = record.filter(|record| record.state == EventState::Pending) else {
        return Ok(Verdict::Done);
    };
    let before = record.attempts;
    if before >= deps.settings().attempts.inbound {
        wake_up::enqueue_turn_if_stored(deps, job, bound).await?;
        give_up_event(deps, job, Reason::Poison, before, None).await?;
        return Ok(Verdict::Done);
    }
    let with_this = before.saturating_add(1);
    let counts = EventChange::SetAttempts {
        seen: before,
        attempts: with_this,
    };
    let worked = match deps.store().change_event(&job.event, counts).await {
        // Another worker is processing the event.
        Ok(false) => return Ok(Verdict::RETRY_SOON),
        Ok(true) => handle_event(deps, job, bound, receives).await,
        // The attempt may have been counted although the store reported an error.
        Err(error) => Err(error),
    };
    let is_attempt = match &worked {
        Ok(verdict) => *verdict == Verdict::Done,
        Err(error) => !error.is_retryable(),
    };
    if is_attempt {
        measure::count_retry(&bound.instance.id, QueueName::Inbound);
    } else {
        take_back_attempt(deps, job, with_this, before).await;
    }
    worked
}

/// Number of tries to take an attempt back.
const TAKE_BACK_TRIES: u32 = 4;

/// Wait after the first failed try; each further wait is twice as long.
const FIRST_RETRY_WAIT: SignedDuration = SignedDuration::from_millis(100);

/// Takes an attempt back. The store may be failing still, so this is tried `TAKE_BACK_TRIES` times. Another worker may have counted
/// its own attempt at the same event meanwhile. Then one is taken from what is counted now: a count that is too low costs
/// another try, and a count that is too high gives the event up.
async fn take_back_attempt(deps: &Deps, job: &InboundJob, with_this: u32, before: u32) {
    let (mut counted, mut wait) = (Some((with_this, before)), FIRST_RETRY_WAIT);
    for attempt in 1..=TAKE_BACK_TRIES {
        match set_back(deps, job, counted).await {
            Ok(true) => return,
            Ok(false) => counted = None,
            Err(error) if attempt == TAKE_BACK_TRIES => {
                tracing::warn!(error = %format_error_chain(&error), "an attempt stays counted");
            }
            Err(_) => {
                deps.system().sleep(wait.unsigned_abs()).await;
                wait = wait.saturating_mul(2);
            }
        }
    }
}

/// Sets an event's attempts from one count to another; without counts, to one less than is stored. Returns `false` if
/// others changed the stored count meanwhile.
async fn set_back(deps: &Deps, job: &InboundJob, counted: Option<(u32, u32)>) -> PortResult<bool> {
    let store = deps.store();
    let (seen, less) = match counted {
        Some(counted) => counted,
        None => match store.find_event(&job.event).await? {
            Some(record) if record.state == EventState::Pending && record.attempts > 0 => {
                (record.attempts, record.attempts - 1)
            }
            _ => return Ok(true),
        },
    };
    store
        .change_event(&job.event, EventChange::SetAttempts { seen, attempts: less })
        .await
}

/// Reads the event's body and applies the event, unless the event must wait.
async fn handle_event(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    receives: u32,
) -> PortResult<Verdict> {
    let event = InstanceEvent {
        job,
        bound,
        started_at: deps.system().now(),
    };
    let unreadable = match resolve_event(deps, &event).await? {
        ResolvedEvent::Apply(inbound) => match apply_inbound(deps, &event, inbound).await {
            Err(error @ PortError::TooLarge { .. }) => error,
            applied => {
                finish_applied(deps, &event, applied?).await?;
                delete_applied_body(deps, job).await;
                return Ok(Verdict::Done);
            }
        },
        ResolvedEvent::Later(verdict) => return Ok(verdict),
        ResolvedEvent::Unreadable(error) => error,
    };
    // No further attempt can help.
    let why = Some(format_error_chain(&unreadable));
    Box::pin(give_up_event(deps, job, Reason::Poison, receives, why)).await?;
    Ok(Verdict::Done)
}

/// An event that was applied.
enum AppliedEvent {
    /// This follow-up job was enqueued. The event is still to be finished.
    Followed(FollowUpJob),
    /// The event's message was left out for this reason. The event is still to be finished.
    LeftOut(Reason),
    /// The event was finished in the transaction that stored its message.
    Finished,
}

/// Applies an event.
async fn apply_inbound(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    inbound: InboundEvent,
) -> PortResult<AppliedEvent> {
    match inbound {
        InboundEvent::Message(inbound) => {
            let arrival = InboundArrival::new(deps, event, &inbound);
            if arrival.is_of_contact() {
                return message::store_contact_message(deps, &arrival).await;
            }
            operator_message::store_operator_message(deps, &arrival).await?;
        }
        InboundEvent::Failed(failed) => {
            Box::pin(delivery_failure::record_delivery_failure(deps, event, &failed)).await?;
        }
        InboundEvent::ConnectionChanged => {
            connection::handle_connection_event(deps, event.bound, event.job.received_at).await?;
        }
        // Not expected: `resolve_event` makes every change a message or ignores it.
        InboundEvent::Change(_) => tracing::warn!("a change without its message"),
        InboundEvent::Ignored { what } => tracing::info!(what, "event ignored"),
    }
    Ok(AppliedEvent::Followed(FollowUpJob::Nothing))
}

/// Finishes an event that was applied, unless it is finished already.
async fn finish_applied(deps: &Deps, event: &InstanceEvent<'_>, applied: AppliedEvent) -> PortResult<()> {
    let (enqueued, reason) = match applied {
        AppliedEvent::Followed(enqueued) => (enqueued, None),
        AppliedEvent::LeftOut(reason) => (FollowUpJob::Nothing, Some(reason)),
        AppliedEvent::Finished => return Ok(()),
    };
    if let Some(reason) = reason {
        measure::count_ignored_event(event.job.provider);
        tracing::info!(%reason, "a message is left out");
    }
    let processed = ProcessingRecord {
        started_at: event.started_at,
        enqueued,
    };
    finish_event(deps, event.job, Some(&event.bound.tenant), (processed, reason)).await?;
    if enqueued == FollowUpJob::Nothing {
        delete_left_file(deps, event.job).await;
    }
    Ok(())
}

/// Deletes the stored body of an event that is applied: nobody needs it any more. If that fails, the body expires.
async fn delete_applied_body(deps: &Deps, job: &InboundJob) {
    if let EventPayload::Stored(key) = &job.payload
        && let Err(error) = deps.queues().delete_payload(key).await
    {
        tracing::warn!(error = %format_error_chain(&error), "the body of an applied event was not deleted");
    }
}

/// Deletes the file that the event's webhook held if no message of the event waits for it: the event was an echo, or its message
/// is not stored.
async fn delete_left_file(deps: &Deps, job: &InboundJob) {
    if job.has_file {
        delete_unneeded_webhook_file(deps, &job.event).await;
    }
}

/// Finishes an event that changes nothing.
async fn ignore_event(
    deps: &Deps,
    job: &InboundJob,
    (tenant, reason): (Option<&Tenant>, Option<Reason>),
) -> PortResult<()> {
    measure::count_ignored_event(job.provider);
    let processed = ProcessingRecord {
        started_at: deps.system().now(),
        enqueued: FollowUpJob::Ignored,
    };
    finish_event(deps, job, tenant, (processed, reason)).await?;
    delete_applied_body(deps, job).await;
    delete_left_file(deps, job).await;
    Ok(())
}

/// Marks the event as applied and stores how it was processed.
async fn finish_event(
    deps: &Deps,
    job: &InboundJob,
    tenant: Option<&Tenant>,
    (processed, reason): (ProcessingRecord, Option<Reason>),
) -> PortResult<()> {
    let mut finish = build_event_finish(deps, job, tenant, processed);
    finish.reason = reason;
    let change = EventChange::Finish(&finish);
    deps.store().change_event(&job.event, change).await.map(drop)
}

/// Builds the end of an event that is applied now.
fn build_event_finish(
    deps: &Deps,
    job: &InboundJob,
    tenant: Option<&Tenant>,
    processed: ProcessingRecord,
) -> EventFinish {
    let now = deps.system().now();
    let mut ttl = event_period(deps, tenant);
    // An event without id and time (`lookalike`) may look like another event. Its record expires as soon as the provider
    // can no longer repeat the webhook. Then the next equal event counts as a new event.
    if job.lookalike {
        ttl = ttl.min(LOOKALIKE_DEDUP);
    }
    EventFinish {
        processed,
        at: now,
        expires: add_duration(now, ttl),
        reason: None,
    }
}
