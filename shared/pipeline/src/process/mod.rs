//! processor: persist what came in and decide what follows from it.

mod attempts;
mod change;
mod failed;
mod identity;
mod message;
mod phone;

pub(crate) use message::send_timer_if_stored;

use crate::World;
use crate::connection;
use crate::dead::give_up_event;
use crate::ports::{Ambient, DeadLetters, Directory, Inbox, PortError, PortResult, Providers, Queues};
use crate::queued::{self, RECEIVES_HALF, chain};
use crate::verdict::Verdict;
use change::Resolved;
pub(crate) use message::current;
use recado_domain::config::Bound;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::{
    Enqueued, EventKind, EventState, InboundJob, LOOKALIKE_KNOWN_MS, Payload, Processed,
};
use recado_domain::inbound::Inbound;
use recado_domain::millis::shift;
use recado_domain::reason::Reason;
use serde_json::Value;
use tracing::Instrument;

/// Handles one message of `inbound`, received for the `receives`th time.
pub async fn process<W: World>(world: &W, body: &str, receives: u32) -> Verdict {
    let job: InboundJob = match queued::read(world, QueueName::Inbound, body).await {
        Ok(job) => job,
        Err(verdict) => return verdict,
    };
    let span = tracing::info_span!(
        "process", event_id = %job.event, correlation_id = %job.correlation, instance = %job.external, receives
    );
    async {
        // In a box: thousands of these may wait side by side.
        let worked = Box::pin(apply(world, &job, receives)).await;
        queued::verdict(world, worked, &world.settings().inbound_backoff, receives)
    }
    .instrument(span)
    .await
}

async fn apply<W: World>(world: &W, job: &InboundJob, receives: u32) -> PortResult<Verdict> {
    if receives >= RECEIVES_HALF && queued::renew_event(world, job).await? {
        return Ok(Verdict::Done);
    }
    if let Some(died) = job.redrive {
        let revived = world.store().revive_event(&job.event, died).await?;
        // Also when it was revived before: a crash may have come in between.
        world.store().remove_dead_letter(job.event.as_str(), died).await?;
        if !revived && settled(world, job).await? {
            return Ok(Verdict::Done);
        }
    } else if (receives > 1 || job.kind != EventKind::Message) && settled(world, job).await? {
        return Ok(Verdict::Done);
    }
    let Some(bound) = world.store().bound(job.provider, &job.external).await? else {
        tracing::warn!("event of an instance that is not configured");
        give_up_event(world, job, None, Reason::UnknownInstance, 1, None).await?;
        return Ok(Verdict::Done);
    };
    if receives > 1 {
        return attempts::counted(world, job, &bound, receives).await;
    }
    work(world, job, &bound, receives).await
}

/// Reads the body and does what it asks for, if it need not wait.
async fn work<W: World>(world: &W, job: &InboundJob, bound: &Bound, receives: u32) -> PortResult<Verdict> {
    let started_at = world.ambient().now();
    let payload = match body_of(world, job).await {
        Err(error @ PortError::Invalid { .. }) => {
            return give_up_as_poison(world, job, bound, receives, &error).await;
        }
        read => read?,
    };
    let inbound = world.providers().interpret(job, &payload);
    let inbound = identity::numbered(world, &bound.instance.id, inbound).await?;
    let inbound = match change::resolve(world, job, bound, inbound).await? {
        Resolved::As(inbound) => inbound,
        Resolved::Later(verdict) => return Ok(verdict),
    };
    if let Some(verdict) = must_wait(world, job, bound, &inbound).await? {
        return Ok(verdict);
    }
    let enqueued = match follow(world, job, bound, inbound).await {
        Err(error @ PortError::TooLarge { .. }) => {
            return give_up_as_poison(world, job, bound, receives, &error).await;
        }
        followed => followed?,
    };
    finish(world, job, Processed { started_at, enqueued }).await?;
    Ok(Verdict::Done)
}

/// Gives up an event that another try cannot help.
async fn give_up_as_poison<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    receives: u32,
    error: &PortError,
) -> PortResult<Verdict> {
    let (instance, why) = (Some(bound.instance.id.clone()), Some(chain(error)));
    give_up_event(world, job, instance, Reason::Poison, receives, why).await?;
    Ok(Verdict::Done)
}

/// Does what the event asks for; tells what was enqueued by that.
async fn follow<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: Inbound,
) -> PortResult<Enqueued> {
    match inbound {
        Inbound::Message(inbound) if inbound.from_me => phone::typed(world, job, bound, &inbound).await?,
        Inbound::Message(inbound) => return message::received(world, job, bound, &inbound).await,
        Inbound::Failed(failed) => failed::failed(world, &bound.instance.id, &failed).await?,
        Inbound::ConnectionChanged => connection::event(world, bound, job.received_at).await?,
        // It was made a message, or ignored, before.
        Inbound::Change(_) => tracing::warn!("a change without its message"),
        Inbound::Ignored { what } => tracing::info!(what, "event left alone"),
    }
    Ok(Enqueued::Nothing)
}

/// The event is applied.
async fn finish<W: World>(world: &W, job: &InboundJob, processed: Processed) -> PortResult<()> {
    let now = world.ambient().now();
    let ttl = i64::try_from(world.settings().event_ttl.as_millis()).unwrap_or(i64::MAX);
    // Of two that look alike the later one is another event, once the first can no longer be repeated.
    let ttl = if job.lookalike {
        ttl.min(LOOKALIKE_KNOWN_MS)
    } else {
        ttl
    };
    world
        .store()
        .finish_event(&job.event, &processed, now, shift(now, ttl))
        .await
}

/// Whether the event is no longer pending; a dead one gets its copy, should a crash have prevented that.
async fn settled<W: World>(world: &W, job: &InboundJob) -> PortResult<bool> {
    let Some(record) = world.store().event(&job.event).await? else {
        return Ok(true);
    };
    if record.state == EventState::Dead && world.store().dead_letter(job.event.as_str()).await?.is_none() {
        let reason = record.reason.unwrap_or(Reason::Poison);
        give_up_event(world, job, None, reason, record.attempts, None).await?;
    }
    Ok(record.state != EventState::Pending)
}

/// Whether it is too early for the event.
async fn must_wait<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: &Inbound,
) -> PortResult<Option<Verdict>> {
    match inbound {
        Inbound::Message(message) if message.from_me => {
            if phone::is_known(world, job, message).await? {
                return Ok(None);
            }
            phone::unresolved_before(world, job, bound, message).await
        }
        Inbound::Failed(failed) => phone::unlinked_before(world, job, bound, failed.to.as_ref()).await,
        Inbound::ConnectionChanged => connection::event_waits(world, bound, job.received_at).await,
        Inbound::Message(_) | Inbound::Change(_) | Inbound::Ignored { .. } => Ok(None),
    }
}

async fn body_of<W: World>(world: &W, job: &InboundJob) -> PortResult<Value> {
    match &job.payload {
        Payload::Inline(value) => Ok(value.clone()),
        Payload::Stored(key) => world
            .queues()
            .payload(key)
            .await?
            .ok_or_else(|| PortError::invalid("payload", format!("no payload under {key}"))),
    }
}
