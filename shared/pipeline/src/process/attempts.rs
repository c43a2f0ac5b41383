//! Attempts at an event. A worker that ends without a word leaves its attempt counted; one that reports that the event
//! waits, or that a store or queue failed, takes it back.

use super::{message, work};
use crate::World;
use crate::dead::give_up_event;
use crate::ports::{Ambient, Inbox, PortResult};
use crate::queued::chain;
use crate::verdict::Verdict;
use recado_domain::config::Bound;
use recado_domain::event::{EventState, InboundJob};
use recado_domain::reason::Reason;
use std::time::Duration;

/// How often an attempt is taken back whose removal fails.
const TRIES: u32 = 4;

/// How long the first of these waits; each further one waits twice as long.
const AGAIN: Duration = Duration::from_millis(100);

/// Works on an event that was received before. Its attempt is counted before its body is read, and nothing else is tried
/// again in this process meanwhile: whatever ends the process costs no other event an attempt.
pub(super) async fn counted<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    receives: u32,
) -> PortResult<Verdict> {
    let _alone = world.retries().alone().await;
    let record = world.store().event(&job.event).await?;
    let Some(record) = record.filter(|record| record.state == EventState::Pending) else {
        return Ok(Verdict::Done);
    };
    let before = record.attempts;
    if before >= world.settings().attempts.inbound {
        message::send_timer_if_stored(world, job, bound).await?;
        let instance = Some(bound.instance.id.clone());
        give_up_event(world, job, instance, Reason::Poison, before, None).await?;
        return Ok(Verdict::Done);
    }
    let with_this = before.saturating_add(1);
    let worked = match world.store().set_attempts(&job.event, before, with_this).await {
        // Somebody else is at it.
        Ok(false) => return Ok(Verdict::SOON),
        Ok(true) => work(world, job, bound, receives).await,
        // It may be counted all the same.
        Err(error) => Err(error),
    };
    let is_attempt = match &worked {
        Ok(verdict) => *verdict == Verdict::Done,
        Err(error) => !error.retryable(),
    };
    if !is_attempt {
        take_back(world, job, with_this, before).await;
    }
    worked
}

/// Takes an attempt back. What failed may fail here too, so it is tried some times.
async fn take_back<W: World>(world: &W, job: &InboundJob, with_this: u32, before: u32) {
    let mut wait = AGAIN;
    for attempt in 1..=TRIES {
        match world.store().set_attempts(&job.event, with_this, before).await {
            Ok(_) => return,
            Err(error) if attempt == TRIES => {
                tracing::warn!(error = %chain(&error), "an attempt stays counted");
            }
            Err(_) => {
                world.ambient().sleep(wait).await;
                wait = wait.saturating_mul(2);
            }
        }
    }
}
