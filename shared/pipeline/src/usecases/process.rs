//! The `processor` function: applies the events of the queue `inbound` and enqueues what follows from them.

mod access;
mod attempts;
mod choice;
mod delivery_failure;
mod identity;
mod message;
mod message_change;
mod operator_message;
mod opt_out;
mod phone_greeting;
mod quoted_message;
mod target_change;

use crate::Deps;
use crate::measure;
use crate::steps::connection;
use crate::steps::event_period::event_period;
use crate::steps::give_up::give_up_event;
use crate::steps::queue_message::{self, REQUEUE_AFTER_RECEIVES, format_error_chain};
use crate::steps::trace_span::continue_trace;
use crate::steps::verdict::Verdict;
use crate::steps::wake_up;
use crate::steps::webhook_file::delete_unneeded_webhook_file;
use jiff::Timestamp;
use message_change::ResolvedChange;
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
use serde_json::Value;
use tracing::Instrument;

/// Processes one message of the queue `inbound`, received for the `receives`th time.
pub async fn process(deps: &Deps, body: &str, receives: u32) -> Verdict {
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

async fn apply_event(deps: &Deps, job: &InboundJob, receives: u32) -> PortResult<Verdict> {
    if receives >= REQUEUE_AFTER_RECEIVES && queue_message::reenqueue_event(deps, job).await? {
        return Ok(Verdict::Done);
    }
    if let Some(failed_at) = job.redrive {
        let revived = deps
            .store()
            .change_event(&job.event, EventChange::Revive { failed_at })
            .await?;
        // The dead letter is removed also if the event was revived before: a crash may have happened between the two
        // writes.
        remove_dead_letter(deps.store(), job.event.as_str(), failed_at).await?;
        if !revived && is_settled_event(deps, job).await? {
            return Ok(Verdict::Done);
        }
    } else if (receives > 1 || job.kind != EventKind::Message) && is_settled_event(deps, job).await? {
        return Ok(Verdict::Done);
    }
    let Some(bound) = find_config_by_external(deps.store(), job.provider, &job.external).await? else {
        if was_instance_removed(deps.store(), job.provider, &job.external).await? {
            tracing::info!("event of a removed instance ignored");
            ignore_event(deps, job, None).await?;
            return Ok(Verdict::Done);
        }
        tracing::warn!("event of an instance that is not configured");
        give_up_event(deps, job, Reason::UnknownInstance, 1, None).await?;
        return Ok(Verdict::Done);
    };
    if !bound.is_enabled() {
        tracing::info!(instance_id = %bound.instance.id, "event of a disabled instance ignored");
        ignore_event(deps, job, Some(&bound.tenant)).await?;
        return Ok(Verdict::Done);
    }
    if receives > 1 {
        return Box::pin(attempts::handle_counted_attempt(deps, job, &bound, receives)).await;
    }
    handle_event(deps, job, &bound, receives).await
}

/// Reads the event's body and applies the event, unless the event must wait.
async fn handle_event(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    receives: u32,
) -> PortResult<Verdict> {
    let started_at = deps.system().now();
    let payload = match load_event_payload(deps, job).await {
        Err(error @ PortError::Invalid { .. }) => {
            return Box::pin(give_up_as_poison(deps, job, receives, &error)).await;
        }
        read => read?,
    };
    let inbound = deps.providers().interpret_event(job, &payload);
    let inbound = identity::resolve_phone_number(deps, &bound.instance.id, inbound).await?;
    let inbound = match message_change::resolve_change(deps, job, bound, inbound).await? {
        ResolvedChange::Apply(inbound) => inbound,
        ResolvedChange::Later(verdict) => return Ok(verdict),
    };
    if let Some(verdict) = check_must_wait(deps, job, bound, &inbound).await? {
        return Ok(verdict);
    }
    match apply_inbound(deps, job, bound, inbound, started_at).await {
        Err(error @ PortError::TooLarge { .. }) => {
            return Box::pin(give_up_as_poison(deps, job, receives, &error)).await;
        }
        applied => match applied? {
            AppliedEvent::Followed(enqueued) => {
                let processed = ProcessingRecord { started_at, enqueued };
                finish_event(deps, job, Some(&bound.tenant), (processed, None)).await?;
                if enqueued == FollowUpJob::Nothing {
                    delete_left_file(deps, job).await;
                }
            }
            AppliedEvent::LeftOut(reason) => {
                leave_event_out(deps, job, bound, (started_at, reason)).await?;
                delete_left_file(deps, job).await;
            }
            AppliedEvent::Finished => {}
        },
    }
    delete_applied_body(deps, job).await;
    Ok(Verdict::Done)
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

/// Gives up an event that no further attempt can help.
async fn give_up_as_poison(
    deps: &Deps,
    job: &InboundJob,
    receives: u32,
    error: &PortError,
) -> PortResult<Verdict> {
    let why = Some(format_error_chain(error));
    give_up_event(deps, job, Reason::Poison, receives, why).await?;
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
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: InboundEvent,
    started_at: Timestamp,
) -> PortResult<AppliedEvent> {
    match inbound {
        InboundEvent::Message(inbound) if inbound.from_me => {
            operator_message::store_operator_message(deps, job, bound, &inbound).await?;
        }
        InboundEvent::Message(inbound) => {
            return message::store_contact_message(deps, job, bound, &inbound, started_at).await;
        }
        InboundEvent::Failed(failed) => {
            let records = delivery_failure::record_delivery_failure(deps, job, bound, &failed);
            Box::pin(records).await?;
        }
        InboundEvent::ConnectionChanged => {
            connection::handle_connection_event(deps, bound, job.received_at).await?;
        }
        // Not expected: `message_change::resolve_change` makes every change a message or ignores it.
        InboundEvent::Change(_) => tracing::warn!("a change without its message"),
        InboundEvent::Ignored { what } => tracing::info!(what, "event ignored"),
    }
    Ok(AppliedEvent::Followed(FollowUpJob::Nothing))
}

/// Finishes an event that changes nothing.
async fn ignore_event(deps: &Deps, job: &InboundJob, tenant: Option<&Tenant>) -> PortResult<()> {
    measure::count_ignored_event(job.provider);
    let processed = ProcessingRecord {
        started_at: deps.system().now(),
        enqueued: FollowUpJob::Ignored,
    };
    finish_event(deps, job, tenant, (processed, None)).await?;
    delete_applied_body(deps, job).await;
    delete_left_file(deps, job).await;
    Ok(())
}

/// Finishes an event whose message is not stored, and stores the reason.
async fn leave_event_out(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    (started_at, reason): (Timestamp, Reason),
) -> PortResult<()> {
    measure::count_ignored_event(job.provider);
    tracing::info!(%reason, "a message is left out");
    let processed = ProcessingRecord {
        started_at,
        enqueued: FollowUpJob::Nothing,
    };
    finish_event(deps, job, Some(&bound.tenant), (processed, Some(reason))).await
}

/// Marks the event as applied and stores how it was processed.
async fn finish_event(
    deps: &Deps,
    job: &InboundJob,
    tenant: Option<&Tenant>,
    (processed, reason): (ProcessingRecord, Option<Reason>),
) -> PortResult<()> {
    let finish = EventFinish {
        reason,
        ..build_event_finish(deps, job, tenant, processed)
    };
    deps.store()
        .change_event(&job.event, EventChange::Finish(&finish))
        .await
        .map(drop)
}

/// Builds the end of an event that is applied now.
fn build_event_finish(
    deps: &Deps,
    job: &InboundJob,
    tenant: Option<&Tenant>,
    processed: ProcessingRecord,
) -> EventFinish {
    let now = deps.system().now();
    let ttl = event_period(deps, tenant);
    // An event without id and time (`lookalike`) may look like another event. Its record expires as soon as the provider
    // can no longer repeat the webhook, so that the next equal event counts as a new event.
    let ttl = if job.lookalike {
        ttl.min(LOOKALIKE_DEDUP)
    } else {
        ttl
    };
    EventFinish {
        processed,
        at: now,
        expires: add_duration(now, ttl),
        reason: None,
    }
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
    let bound = find_config_by_external(deps.store(), job.provider, &job.external).await?;
    // Without an instance nobody answers.
    let Some(bound) = bound else { return Ok(()) };
    let silence = wake_up::resolve_debounce(deps, &bound).silence_after_unknown();
    wake_up::enqueue_reply_turn(deps, job, &bound, place, silence).await
}

/// Returns a verdict if the event must wait; `None` if it can be applied now.
async fn check_must_wait(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: &InboundEvent,
) -> PortResult<Option<Verdict>> {
    match inbound {
        InboundEvent::Message(message) if message.from_me => {
            if operator_message::is_known_message(deps, job, message).await? {
                return Ok(None);
            }
            operator_message::wait_for_running_sends(deps, job, bound, message).await
        }
        InboundEvent::Failed(failed) => {
            operator_message::wait_for_unlinked_sends(deps, job, bound, failed.to.as_ref()).await
        }
        InboundEvent::ConnectionChanged => {
            connection::delay_connection_event(deps, bound, job.received_at).await
        }
        InboundEvent::Message(_) | InboundEvent::Change(_) | InboundEvent::Ignored { .. } => Ok(None),
    }
}

async fn load_event_payload(deps: &Deps, job: &InboundJob) -> PortResult<Value> {
    match &job.payload {
        EventPayload::Inline(value) => Ok(value.clone()),
        EventPayload::Stored(key) => deps
            .queues()
            .find_payload(key)
            .await?
            .ok_or_else(|| PortError::invalid("payload", format!("no payload under {key}"))),
    }
}
