//! Tells whether an event is still to be applied, and counts the attempts.
//!
//! If the worker ends without a report, its attempt stays counted. If the worker reports that the event waits, or that a store or
//! queue failed, the attempt is taken back.

use super::handle_event;
use crate::measure::count_retry;
use crate::steps::give_up::give_up_event;
use crate::steps::queue_message::format_error_chain;
use crate::steps::verdict::Verdict;
use crate::steps::wake_up;
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::{EventKind, EventRecord, EventState, FollowUpJob, InboundJob};
use recado_domain::reason::Reason;
use recado_ports::Deps;
use recado_ports::ports::{EventChange, PortResult};
use recado_ports::records::configuration::find_config_by_external;
use recado_ports::records::dead_letters::remove_dead_letter;

/// Number of tries to take an attempt back.
const TRIES: u32 = 4;

/// Wait after the first failed try; each further wait is twice as long.
const FIRST_RETRY_WAIT: SignedDuration = SignedDuration::from_millis(100);

/// Returns `true` if the event is still to be applied. A redriven event becomes pending again.
pub(super) async fn is_to_be_applied(deps: &Deps, job: &InboundJob, receives: u32) -> PortResult<bool> {
    let Some(failed_at) = job.redrive else {
        let may_be_settled = receives > 1 || job.kind != EventKind::Message;
        return Ok(!may_be_settled || !is_settled_event(deps, job).await?);
    };
    let revived = deps
        .store()
        .change_event(&job.event, EventChange::Revive { failed_at })
        .await?;
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
    let bound = find_config_by_external(deps.store(), job.provider, &job.external).await?;
    // Without an instance nobody answers.
    let Some(bound) = bound else { return Ok(()) };
    let silence = wake_up::resolve_debounce(deps, &bound).silence_after_unknown();
    wake_up::enqueue_reply_turn(deps, job, &bound, place, silence).await
}

/// Processes an event that was received before. The attempt is counted before the event's body is read, and no other
/// event is retried in this process meanwhile. So if the event ends the process, no other event loses an attempt.
pub(super) async fn handle_counted_attempt(
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
    let worked = match deps
        .store()
        .change_event(
            &job.event,
            EventChange::SetAttempts {
                seen: before,
                attempts: with_this,
            },
        )
        .await
    {
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
        count_retry(&bound.instance.id, QueueName::Inbound);
    } else {
        take_back_attempt(deps, job, with_this, before).await;
    }
    worked
}

/// Takes an attempt back. The store may be failing still, so this is tried `TRIES` times. Another worker may have counted
/// its own attempt at the same event meanwhile. Then one is taken from what is counted now: a count that is too low costs
/// another try, and a count that is too high gives the event up.
async fn take_back_attempt(deps: &Deps, job: &InboundJob, with_this: u32, before: u32) {
    let (mut counted, mut wait) = (Some((with_this, before)), FIRST_RETRY_WAIT);
    for attempt in 1..=TRIES {
        match set_back(deps, job, counted).await {
            Ok(true) => return,
            Ok(false) => counted = None,
            Err(error) if attempt == TRIES => {
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
