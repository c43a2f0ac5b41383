//! One attempt: a slot, a claim, a request, an outcome.

use super::{Context, LOST, Step, cancel, file, fresh, parking, settle, waiting, window};
use crate::World;
use crate::chance::nonce;
use crate::ports::{
    Ambient, Claimed, Guard, Instances, OutboxStore, OutgoingMessage, PortResult, Providers, Reservation,
    Written,
};
use crate::verdict::Verdict;
use jiff::Timestamp;
use recado_domain::content::Content;
use recado_domain::instance::{Connection, InFlight, InstanceState};
use recado_domain::message::Message;
use recado_domain::millis::shift;
use recado_domain::options::SendOptions;
use recado_domain::outbox::{Author, Outbox, text_hash};
use recado_domain::rate::missed;
use std::time::Duration;

/// A slot this near is waited for in the function; queues keep whole seconds, so a kick comes back one early.
const WAIT_HERE_MS: i64 = 1_500;

/// Queues hide a message for long, but a function's concurrency must not fill with distant slots.
pub(super) const PARK_BEYOND_MS: i64 = 15 * 60_000;

pub(super) async fn attempt<W: World>(
    world: &W,
    context: Context<'_>,
    mut message: Message,
) -> PortResult<Step> {
    if let Some(step) = too_early(world, &message).await? {
        return Ok(step);
    }
    let (slot, state) = match slot(world, context, &mut message).await? {
        Ok(found) => found,
        Err(step) => return Ok(step),
    };
    let context = Context {
        known: Some(&state),
        ..context
    };
    if let Some(step) = fresh::look(world, context, &message, slot).await? {
        return Ok(step);
    }
    let instead = match window::look(world, context, &message).await? {
        Ok(instead) => instead,
        Err(step) => return Ok(step),
    };
    let file = file::read(world, &message).await?;
    let now = world.ambient().now();
    if is_too_late(world, context, now) {
        return Ok(LOST);
    }
    let unclaimed = message.clone();
    let Some((flight, guard)) = claim(world, &mut message, instead.as_ref(), now) else {
        return Ok(LOST);
    };
    match world.store().claim(&message, guard.as_ref(), &flight).await? {
        Claimed::Conflict => return Ok(LOST),
        Claimed::Stopped => return cancel::cancel(world, &unclaimed).await,
        Claimed::Yes => {}
    }
    // The clock again: a stall here must neither break the rate nor outlive the lease.
    let now = world.ambient().now();
    if missed(slot, now) {
        return settle::put_back(world, message, &flight, "its slot went by").await;
    }
    if shift(now, provider_timeout(world)) > flight.until {
        return Ok(LOST);
    }
    let Some(outgoing) = outgoing(&message) else {
        return Ok(Step::Next);
    };
    let outgoing = match instead {
        Some(template) => OutgoingMessage {
            content: template,
            options: SendOptions::default(),
            ..outgoing
        },
        None => file::put_in(outgoing, file),
    };
    let outcome = world.providers().send(context.bound, &outgoing).await;
    settle::outcome(world, context, message, &flight, outcome).await
}

/// How long the provider may take to answer, in milliseconds.
fn provider_timeout<W: World>(world: &W) -> i64 {
    i64::try_from(world.settings().provider_timeout.as_millis()).unwrap_or(i64::MAX)
}

/// Whether the function would end before a request to the provider is answered and the answer stored.
pub(super) fn is_too_late<W: World>(world: &W, context: Context<'_>, now: Timestamp) -> bool {
    let need = provider_timeout(world).saturating_add(5_000);
    context
        .deadline
        .is_some_and(|deadline| shift(now, need) > deadline)
}

/// What the provider is given; `None` for a message that does not go out.
pub(super) fn outgoing(message: &Message) -> Option<OutgoingMessage> {
    let to = message.to()?.clone();
    Some(OutgoingMessage {
        id: message.id(),
        to,
        content: message.content.clone(),
        options: message
            .out
            .as_ref()
            .map(|out| out.options.clone())
            .unwrap_or_default(),
        attempt: message.out.as_ref().map_or(1, |out| out.attempts.max(1)),
    })
}

/// A message that waits for a time keeps everything behind it waiting too.
async fn too_early<W: World>(world: &W, message: &Message) -> PortResult<Option<Step>> {
    let now = world.ambient().now();
    let not_before = message
        .out
        .as_ref()
        .and_then(|out| out.not_before)
        .filter(|at| *at > now);
    match not_before {
        None => Ok(None),
        Some(at) if at > shift(now, PARK_BEYOND_MS) => {
            parking::park(world, message, Some(at)).await.map(Some)
        }
        Some(at) => waiting::wait(world, message, Verdict::at(at, now))
            .await
            .map(Some),
    }
}

/// The slot in which the message may leave, reserved and waited for; or what to do instead.
async fn slot<W: World>(
    world: &W,
    context: Context<'_>,
    message: &mut Message,
) -> PortResult<Result<(Timestamp, InstanceState), Step>> {
    let now = world.ambient().now();
    let instance = &context.bound.instance;
    let traits = world.providers().traits(instance.provider);
    let rate = instance.rate(&traits, world.settings().rate);
    let held = message.out.as_ref().and_then(|out| out.slot_at(now));
    let held = held.filter(|slot| *slot <= rate.latest(now));
    let (slot, state) = if let Some(slot) = held {
        // Reserved before: the instance may have closed since.
        let state = world.store().instance_state(&message.instance).await?;
        if state.connection != Connection::Open {
            return parking::park(world, message, None).await.map(Err);
        }
        (slot, state)
    } else {
        match world.store().reserve(&instance.id, rate, now).await? {
            Reservation::NotOpen => return parking::park(world, message, None).await.map(Err),
            Reservation::Slot { at, state } => (at, *state),
        }
    };
    let wait = slot.as_millisecond() - now.as_millisecond();
    if wait <= WAIT_HERE_MS {
        if wait > 0 {
            world
                .ambient()
                .sleep(Duration::from_millis(wait.unsigned_abs()))
                .await;
        }
        if let Some(out) = message.out.as_mut() {
            out.slot = Some(slot);
        }
        return Ok(Ok((slot, state)));
    }
    if held.is_none() {
        let Some(out) = message.out.as_mut() else {
            return Ok(Err(Step::Next));
        };
        out.hold_slot(slot);
        if world.store().save_open(message, None).await? == Written::Conflict {
            return Ok(Err(LOST));
        }
    }
    if wait > PARK_BEYOND_MS {
        return parking::park(world, message, Some(shift(slot, -120_000)))
            .await
            .map(Err);
    }
    let verdict = Verdict::at(shift(slot, -1_000), now);
    waiting::wait(world, message, verdict).await.map(Err)
}

/// Makes the message `sending` in memory, with what its claim needs. `instead`: what goes out in its place.
fn claim<W: World>(
    world: &W,
    message: &mut Message,
    instead: Option<&Content>,
    now: Timestamp,
) -> Option<(InFlight, Option<Guard>)> {
    let lease = i64::try_from(world.settings().send_lease.as_millis()).unwrap_or(i64::MAX);
    let (nonce, until) = (nonce(world.ambient()), shift(now, lease));
    let flight = InFlight {
        message: message.id(),
        to: message.to()?.clone(),
        nonce: nonce.clone(),
        claimed_at: now,
        until,
        text_hash: text_hash(&instead.unwrap_or(&message.content).as_echo()),
        echo: None,
        maybe_echo: None,
    };
    let conversation = message.conversation.clone();
    let out: &mut Outbox = message.out.as_mut()?;
    let guard = (out.author == Author::Ai).then_some(Guard {
        conversation,
        epoch: out.epoch,
    });
    out.claim(nonce, now, until).ok()?;
    if instead.is_some() {
        out.explain(window::TEMPLATE_INSTEAD);
    }
    Some((flight, guard))
}
