//! An attempt's outcome, stored on condition that it is still this attempt's message.

use super::attempt::PARK_BEYOND_MS;
use super::{Context, LOST, Step, fresh, parking, waiting};
use crate::World;
use crate::connection::closed;
use crate::dead::give_up_message;
use crate::ports::{Ambient, DeliveryLink, Instances, OutboxStore, PortResult, SendOutcome, Written};
use crate::verdict::Verdict;
use crate::world::traits;
use recado_domain::config::Bound;
use recado_domain::delivery::DeliveryKey;
use recado_domain::instance::{Connection, InFlight, NoAnswer};
use recado_domain::message::Message;
use recado_domain::millis::shift;
use recado_domain::reason::Reason;
use std::time::Duration;

/// How soon an unknown outcome is looked at first: most statuses are there by then.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// So many attempts in a row that time out or do not reach the provider park an instance. A message that times out again
/// and again counts once, and the provider is asked before it is sent again ([`fresh::look`]).
const TIMEOUTS_MAX: u32 = 2;

pub(super) async fn outcome<W: World>(
    world: &W,
    context: Context<'_>,
    message: Message,
    flight: &InFlight,
    outcome: SendOutcome,
) -> PortResult<Step> {
    let instance = &context.bound.instance.id;
    match outcome {
        SendOutcome::Accepted {
            provider_message_id,
            simulated,
        } => accepted(world, context, message, flight, provider_message_id, simulated).await,
        SendOutcome::Disconnected { why } => {
            let step = put_back(world, message, flight, &why).await?;
            closed(world, instance, Connection::Closed, None).await?;
            Ok(step)
        }
        SendOutcome::Credentials { why } => {
            let step = put_back(world, message, flight, &why).await?;
            closed(world, instance, Connection::NeedsCredentials, None).await?;
            Ok(step)
        }
        SendOutcome::Unreached { why } => {
            let step = put_back(world, message, flight, &why).await?;
            if world.store().note_timeout(instance, &NoAnswer::Unreached).await? >= TIMEOUTS_MAX {
                closed(world, instance, Connection::Unreachable, None).await?;
            }
            Ok(step)
        }
        SendOutcome::Retryable { why, after } => retry(world, message, flight, why, after).await,
        SendOutcome::Unknown { why, timed_out } => {
            let found = NoAnswer::TimedOut(message.id());
            let step = lost_track(world, message, &why).await?;
            if timed_out && world.store().note_timeout(instance, &found).await? >= TIMEOUTS_MAX {
                closed(world, instance, Connection::Closed, None).await?;
            }
            Ok(step)
        }
        SendOutcome::Permanent { reason, why } => {
            let buried = give_up_message(world, message, reason, Some(why)).await?;
            Ok(if buried { Step::Next } else { LOST })
        }
    }
}

/// Under what a message's statuses will come: our own id where the provider echoes it, else the provider's.
pub(super) fn link<W: World>(
    world: &W,
    bound: &Bound,
    message: &Message,
    provider_message_id: Option<&String>,
) -> Option<DeliveryLink> {
    let (provider, instance) = (bound.instance.provider, bound.instance.external()?);
    let key = if traits(world, bound).echoes_our_id {
        DeliveryKey::own(provider, &instance, &message.id())
    } else {
        DeliveryKey::provider(provider, &instance, provider_message_id?)
    };
    Some(DeliveryLink {
        key,
        provider_message_id: provider_message_id.cloned(),
    })
}

async fn accepted<W: World>(
    world: &W,
    context: Context<'_>,
    mut message: Message,
    flight: &InFlight,
    provider_message_id: Option<String>,
    simulated: bool,
) -> PortResult<Step> {
    let link = link(world, context.bound, &message, provider_message_id.as_ref());
    message.provider_message_id = provider_message_id;
    let Some(out) = message.out.as_mut() else {
        return Ok(Step::Next);
    };
    out.simulated = simulated;
    let attempt = out.attempts;
    if out.accept(world.ambient().now(), None).is_err()
        || world
            .store()
            .settle(&message, Some(flight), link.as_ref(), None)
            .await?
            == Written::Conflict
    {
        return Ok(LOST);
    }
    tracing::info!(ordinal = message.ordinal.0, attempt, simulated, "sent");
    fresh::accepted(world, context, &message, flight.claimed_at).await?;
    Ok(Step::Next)
}

/// The attempt never reached the provider: not counted, and tried again as soon as that makes sense.
pub(super) async fn put_back<W: World>(
    world: &W,
    mut message: Message,
    flight: &InFlight,
    why: &str,
) -> PortResult<Step> {
    let Some(out) = message.out.as_mut() else {
        return Ok(Step::Next);
    };
    if out.put_back(world.ambient().now(), false, why).is_ok() {
        // Won or lost, the kick comes back and looks at what is stored.
        let _ = world.store().save_open(&message, Some(flight)).await?;
    }
    Ok(LOST)
}

async fn retry<W: World>(
    world: &W,
    mut message: Message,
    flight: &InFlight,
    why: String,
    after: Option<Duration>,
) -> PortResult<Step> {
    let settings = world.settings();
    let now = world.ambient().now();
    let Some(out) = message.out.as_mut() else {
        return Ok(Step::Next);
    };
    let attempts = out.attempts;
    if attempts >= settings.attempts.outbound {
        let reason = Reason::MaxRetriesExceeded;
        let buried = give_up_message(world, message, reason, Some(why)).await?;
        return Ok(if buried { Step::Next } else { LOST });
    }
    let backoff = settings.outbound_backoff.wait(attempts, world.ambient().random());
    let after = after.map_or(backoff, |asked| asked.max(backoff));
    let milliseconds = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
    if out.put_back(now, true, &why).is_err() {
        return Ok(LOST);
    }
    // In the record, so that no other kick of this conversation comes too early.
    out.wait_until(shift(now, milliseconds));
    if world.store().save_open(&message, Some(flight)).await? == Written::Conflict {
        return Ok(LOST);
    }
    tracing::warn!(
        ordinal = message.ordinal.0,
        attempt = attempts,
        error = why,
        ?after,
        "attempt failed"
    );
    if milliseconds > PARK_BEYOND_MS {
        return parking::park(world, &message, Some(shift(now, milliseconds))).await;
    }
    waiting::wait(world, &message, Verdict::ComeBack { after }).await
}

async fn lost_track<W: World>(world: &W, mut message: Message, why: &str) -> PortResult<Step> {
    let Some(out) = message.out.as_mut() else {
        return Ok(Step::Next);
    };
    if out.lose_track(world.ambient().now(), why).is_err()
        || world.store().save_open(&message, None).await? == Written::Conflict
    {
        return Ok(LOST);
    }
    tracing::warn!(
        ordinal = message.ordinal.0,
        error = why,
        "outcome unknown: looking for evidence before a repeat"
    );
    let after = LOOK_AGAIN.min(world.settings().unknown_wait);
    Ok(Step::Stop(Verdict::ComeBack { after }))
}
