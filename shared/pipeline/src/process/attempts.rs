//! Attempts at an event. A worker that ends without a word leaves its attempt counted; one that reports that the event
//! waits, or that a store or queue failed, takes it back.

use super::{handle_event, message};
use crate::Deps;
use crate::give_up::give_up_event;
use crate::ports::{Inbox, PortResult, System};
use crate::queue_message::format_error_chain;
use crate::verdict::Verdict;
use recado_domain::config::InstanceConfig;
use recado_domain::event::{EventState, InboundJob};
use recado_domain::reason::Reason;
use std::time::Duration;

/// How often an attempt is taken back whose removal fails.
const TRIES: u32 = 4;

/// How long the first of these waits; each further one waits twice as long.
const FIRST_RETRY_WAIT: Duration = Duration::from_millis(100);

/// Works on an event that was received before. Its attempt is counted before its body is read, and nothing else is tried
/// again in this process meanwhile: whatever ends the process costs no other event an attempt.
pub(super) async fn handle_counted_attempt<W: Deps>(
    deps: &W,
    job: &InboundJob,
    bound: &InstanceConfig,
    receives: u32,
) -> PortResult<Verdict> {
    let _alone = deps.retry_lock().acquire_lock().await;
    let record = deps.store().find_event(&job.event).await?;
    let Some(record) = record.filter(|record| record.state == EventState::Pending) else {
        return Ok(Verdict::Done);
    };
    let before = record.attempts;
    if before >= deps.settings().attempts.inbound {
        message::enqueue_turn_if_stored(deps, job, bound).await?;
        let instance = Some(bound.instance.id.clone());
        give_up_event(deps, job, instance, Reason::Poison, before, None).await?;
        return Ok(Verdict::Done);
    }
    let with_this = before.saturating_add(1);
    let worked = match deps
        .store()
        .set_event_attempts(&job.event, before, with_this)
        .await
    {
        // Somebody else is at it.
        Ok(false) => return Ok(Verdict::RETRY_SOON),
        Ok(true) => handle_event(deps, job, bound, receives).await,
        // It may be counted all the same.
        Err(error) => Err(error),
    };
    let is_attempt = match &worked {
        Ok(verdict) => *verdict == Verdict::Done,
        Err(error) => !error.is_retryable(),
    };
    if !is_attempt {
        take_back_attempt(deps, job, with_this, before).await;
    }
    worked
}

/// Takes an attempt back. What failed may fail here too, so it is tried some times.
async fn take_back_attempt<W: Deps>(deps: &W, job: &InboundJob, with_this: u32, before: u32) {
    let mut wait = FIRST_RETRY_WAIT;
    for attempt in 1..=TRIES {
        match deps
            .store()
            .set_event_attempts(&job.event, with_this, before)
            .await
        {
            Ok(_) => return,
            Err(error) if attempt == TRIES => {
                tracing::warn!(error = %format_error_chain(&error), "an attempt stays counted");
            }
            Err(_) => {
                deps.system().sleep(wait).await;
                wait = wait.saturating_mul(2);
            }
        }
    }
}
