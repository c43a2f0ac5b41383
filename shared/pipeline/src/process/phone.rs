//! Messages with `fromMe`: an echo of what we sent, or words that somebody of the business typed on the phone. Only the
//! latter is a person's answer.

use super::message::{TRIES, current, record};
use crate::World;
use crate::ports::{
    Ambient, Conversations, Deliveries, InboundStored, InboundWrite, Inbox, OutboxStore, PortError,
    PortResult,
};
use crate::verdict::Verdict;
use recado_domain::config::Bound;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::InboundJob;
use recado_domain::ids::{Ordinal, ThreadId};
use recado_domain::inbound::InboundMessage;
use recado_domain::message::Role;
use recado_domain::outbox::text_hash;

/// While a send of this instance runs that was claimed before the event arrived, the event may be about that send: wait
/// for its outcome.
pub(super) async fn unresolved_before<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
) -> PortResult<Option<Verdict>> {
    let now = world.ambient().now();
    let running = |flight: &&recado_domain::instance::InFlight| {
        flight.claimed_at <= job.received_at && flight.until > now
    };
    let flights = world.store().in_flight(&bound.instance.id).await?;
    Ok(flights.iter().find(running).map(|_| Verdict::SOON))
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
    let thread = ThreadId::of(&bound.instance.id, inbound.address.as_str());
    for _ in 0..TRIES {
        let latest = world.store().latest(&thread).await?;
        let mut conversation = current(latest, &thread, bound, inbound, world.ambient().now());
        let seen = seen_by(world, &conversation, inbound).await?;
        let ordinal = conversation.answer(seen, bound.instance.phone_takes_over, job.received_at);
        conversation.learn(None, inbound.phone.as_deref());
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
                return Ok(());
            }
            InboundStored::Already(_) => return Ok(()),
            InboundStored::Conflict => {}
        }
    }
    Err(PortError::unavailable("conversation", "others kept writing it"))
}

/// Ours by the provider's id, or by its text for an attempt whose outcome was never learnt.
async fn is_echo<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: &InboundMessage,
) -> PortResult<bool> {
    if let Some(id) = &inbound.provider_message_id {
        let known = world
            .store()
            .delivery(&DeliveryKey::provider(&job.external, id))
            .await?;
        if known.is_some_and(|delivery| delivery.message.is_some()) {
            return Ok(true);
        }
    }
    let hash = text_hash(&inbound.content.as_text());
    let flights = world.store().in_flight(&bound.instance.id).await?;
    Ok(flights
        .iter()
        .any(|flight| flight.claimed_at <= job.received_at && flight.text_hash == hash))
}

/// What its author had on screen: what the contact wrote up to its own time, by the provider's clock.
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
    let seen = history
        .iter()
        .filter(|m| m.role == Role::User && m.written_at <= typed_at);
    Ok(seen.map(|message| message.ordinal).max().unwrap_or_default())
}
