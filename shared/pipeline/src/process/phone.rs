//! Messages with `fromMe`: an echo of what we sent, or words that somebody of the business typed on the phone. Only the
//! latter is a person's answer.

use super::identity;
use super::message::{TRIES, current, is_stale, record};
use crate::World;
use crate::identity::thread;
use crate::kick;
use crate::person::take_over_others;
use crate::ports::{
    Aliases, Ambient, Conversations, Deliveries, InboundStored, InboundWrite, Inbox, OutboxStore, PortError,
    PortResult,
};
use crate::verdict::Verdict;
use jiff::Timestamp;
use recado_domain::config::Bound;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, Mode};
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::InboundJob;
use recado_domain::ids::{InstanceId, Ordinal};
use recado_domain::inbound::InboundMessage;
use recado_domain::instance::{Echo, FromMe, InFlight};
use recado_domain::message::Role;
use recado_domain::millis::shift;
use recado_domain::outbox::{OutboxState, text_hash};
use std::cmp::Reverse;

/// While a send to this contact runs that was claimed before the event arrived, the event may be about that send: wait for
/// its outcome.
pub(super) async fn unresolved_before<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: &InboundMessage,
) -> PortResult<Option<Verdict>> {
    let mut flights = world.store().in_flight(&bound.instance.id).await?;
    flights.retain(|flight| flight.may_be_to(&inbound.address, inbound.also.as_ref()));
    Ok(running(&flights, job, world.ambient().now()))
}

/// When to look again, if any of `flights` that the event may be about runs still.
fn running(flights: &[InFlight], job: &InboundJob, now: Timestamp) -> Option<Verdict> {
    let running = flights
        .iter()
        .filter(|flight| flight.began_before(job.received_at) && flight.until > now);
    let soonest = running.map(|flight| flight.until).min();
    soonest.map(|until| Verdict::at(until.min(shift(now, 3_000)), now))
}

/// The same for what tells of a send by its id alone, which is known only once its outcome is: also an attempt whose
/// lease is over may be what it is about, until its outcome is known or it would be repeated. `to`: whose message it is
/// about; without it, it may be about anybody's.
pub(super) async fn unlinked_before<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    to: Option<&ContactAddress>,
) -> PortResult<Option<Verdict>> {
    let mut flights = world.store().in_flight(&bound.instance.id).await?;
    flights.retain(|flight| to.is_none_or(|to| flight.may_be_to(to, None)));
    let now = world.ambient().now();
    if let Some(verdict) = running(&flights, job, now) {
        return Ok(Some(verdict));
    }
    let wait = i64::try_from(world.settings().unknown_wait.as_millis()).unwrap_or(i64::MAX);
    for flight in flights {
        let resolved_by = shift(flight.claimed_at, wait.saturating_add(60_000));
        if flight.began_before(job.received_at) && resolved_by > now && is_unresolved(world, &flight).await? {
            return Ok(Some(Verdict::at(shift(now, 30_000), now)));
        }
    }
    Ok(None)
}

/// Whether the attempt's outcome is not known yet. Its note stays when others than the provider told of it.
async fn is_unresolved<W: World>(world: &W, flight: &InFlight) -> PortResult<bool> {
    let message = world.store().message(&flight.message).await?;
    let state = message.and_then(|message| message.out).map(|out| out.state);
    Ok(match state {
        Some(OutboxState::Sending { nonce, .. } | OutboxState::Unknown { nonce, .. }) => {
            nonce == flight.nonce
        }
        _ => false,
    })
}

/// Stores what was typed on the phone, unless it is an echo of our own.
pub(super) async fn typed<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: &InboundMessage,
) -> PortResult<()> {
    if is_echo(world, job, bound, inbound).await? {
        tracing::debug!("an echo of what was sent");
        return Ok(());
    }
    for _ in 0..TRIES {
        let (thread, latest) = identity::person(world, job, bound, inbound).await?;
        let (phone, now) = (inbound.phone.clone(), world.ambient().now());
        let mut conversation = current(latest, &thread, bound, &inbound.address, phone, now);
        let ordinal = if is_stale(world, job, inbound) || !answers(&inbound.content) {
            // Words of long ago (a history sync, a late retry) answer nothing of today.
            conversation.append(job.received_at)
        } else {
            let seen = seen_by(world, &conversation, inbound).await?;
            conversation.answer(seen, bound.instance.phone_takes_over, job.received_at)
        };
        conversation.learn(None, inbound.phone.as_deref());
        identity::learn(world, job, &mut conversation, inbound).await?;
        take_over_others(world, &conversation, &job.correlation).await?;
        conversation.rev += 1;
        let message = record(world, job, &conversation, inbound, Role::Operator, ordinal);
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
        };
        match world.store().store_inbound(write).await? {
            InboundStored::Yes => {
                tracing::info!(conversation_id = %conversation.id, "answered on the phone");
                return taken_over(world, job, &conversation).await;
            }
            InboundStored::Already(_) => return taken_over(world, job, &conversation).await,
            InboundStored::Conflict => {}
        }
    }
    Err(PortError::unavailable("conversation", "others kept writing it"))
}

/// If people have the conversation, what waits to be sent and is void now is cancelled at once.
async fn taken_over<W: World>(world: &W, job: &InboundJob, conversation: &Conversation) -> PortResult<()> {
    if conversation.mode != Mode::Manual {
        return Ok(());
    }
    kick::change_hands(world, &conversation.id, &job.correlation).await
}

/// Whether it can be an answer to the contact. What changes an earlier message is none, nor is a setting of the chat.
fn answers(content: &Content) -> bool {
    !matches!(
        content,
        Content::Edit { .. } | Content::Deletion { .. } | Content::System { .. }
    )
}

/// Whether the provider's id is known as that of a message of ours.
pub(super) async fn is_known<W: World>(
    world: &W,
    job: &InboundJob,
    inbound: &InboundMessage,
) -> PortResult<bool> {
    let Some(id) = &inbound.provider_message_id else {
        return Ok(false);
    };
    let known = world
        .store()
        .delivery(&DeliveryKey::provider(job.provider, &job.external, id))
        .await?;
    Ok(known.is_some_and(|delivery| delivery.message.is_some()))
}

/// Ours by the provider's id, or by its text for an attempt of whose outcome the provider told nothing.
async fn is_echo<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: &InboundMessage,
) -> PortResult<bool> {
    // In this order: a note that is gone by now was resolved before, and then its message is known by its id.
    let flights = world.store().in_flight(&bound.instance.id).await?;
    if is_known(world, job, inbound).await? {
        return Ok(true);
    }
    let hash = text_hash(&inbound.content.as_echo());
    let said = FromMe {
        address: &inbound.address,
        also: inbound.also.as_ref(),
        text_hash: &hash,
        provider_message_id: inbound.provider_message_id.as_deref(),
        written_at: inbound
            .sent_at
            .map_or(job.received_at, |sent_at| sent_at.min(job.received_at)),
        received_at: job.received_at,
    };
    let wait = i64::try_from(world.settings().unknown_wait.as_millis()).unwrap_or(i64::MAX);
    let instance = &bound.instance.id;
    let mut echoed = Vec::new();
    for flight in flights {
        if let Some(echo) = echo_of(world, instance, &flight, said, wait).await? {
            echoed.push((flight, echo));
        }
    }
    // One that was taken for this very echo before, by a worker that died or was repeated, comes first. Else an attempt that
    // is certainly to this contact, and of these the one that was claimed last before it was written: so the earlier ones are
    // left for what was written earlier.
    let taken = |flight: &InFlight| flight.taken_as(said.provider_message_id).is_some();
    echoed.sort_by_key(|(flight, echo)| {
        let after = !flight.began_before(said.written_at);
        let maybe = *echo == Echo::Maybe;
        (!taken(flight), maybe, after, Reverse(flight.claimed_at))
    });
    for (flight, echo) in echoed {
        let Some(id) = said.provider_message_id.filter(|_| !taken(&flight)) else {
            return Ok(true);
        };
        // Taken once: the next equal text was typed by somebody.
        // A note that went meanwhile was resolved: then the message is known by its id, or was another.
        let heard = world.store().hear(instance, &flight, id, echo).await?;
        if heard || is_known(world, job, inbound).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether `said` is the echo of `flight`. Of one that went to an identity without a number, whose number may be known by
/// now, that is looked up.
async fn echo_of<W: World>(
    world: &W,
    instance: &InstanceId,
    flight: &InFlight,
    said: FromMe<'_>,
    unknown_wait_ms: i64,
) -> PortResult<Option<Echo>> {
    let echo = flight.echoes(said, unknown_wait_ms);
    if echo != Some(Echo::Maybe) || !flight.to.is_numberless() {
        return Ok(echo);
    }
    let named = thread(world, instance, flight.to.as_str()).await?;
    let number = world.store().alias(&named).await?;
    // Of another number, it may still be the person's new one.
    let Some(to) = number.filter(|number| number.may_be(said.address)) else {
        return Ok(echo);
    };
    let flight = InFlight { to, ..flight.clone() };
    Ok(flight.echoes(said, unknown_wait_ms))
}

/// What its author had on screen: what the contact wrote up to its own time by the provider's clock, as far as nothing
/// newer lies in between. (An old message that arrived late must not cover one that nobody saw.)
async fn seen_by<W: World>(
    world: &W,
    conversation: &Conversation,
    inbound: &InboundMessage,
) -> PortResult<Ordinal> {
    let Some(typed_at) = inbound.sent_at else {
        return Ok(conversation.last_inbound);
    };
    let Some((_, history)) = world.store().with_history(&conversation.id, 50).await? else {
        return Ok(Ordinal(0));
    };
    let of_contact = history.iter().filter(|message| message.role == Role::User);
    // Both by the provider's clock, also where that is ahead of ours.
    let seen = of_contact.take_while(|message| message.told_at.unwrap_or(message.written_at) <= typed_at);
    Ok(seen.last().map(|message| message.ordinal).unwrap_or_default())
}
