//! One person under two names: a message may come under an identity without a number (a linked identity, a business-scoped
//! user id) although its author's conversation is filed under the number. That both are one is learnt from a message that
//! shows both, and asked for only when one comes that shows no number.

use super::message::is_stale;
use crate::World;
use crate::identity::thread;
use crate::person::{differ, latest};
use crate::ports::{Aliases, Ambient, Conversations, PortError, PortResult, Written};
use recado_domain::config::Bound;
use recado_domain::conversation::Conversation;
use recado_domain::event::InboundJob;
use recado_domain::ids::{ConversationId, InstanceId, ThreadId};
use recado_domain::inbound::{Inbound, InboundMessage};

/// Gives a message without a number the address with the number, where that is known.
pub(super) async fn numbered<W: World>(
    world: &W,
    instance: &InstanceId,
    mut inbound: Inbound,
) -> PortResult<Inbound> {
    if let Inbound::Message(said) | Inbound::Change(said) = &mut inbound
        && said.address.is_numberless()
    {
        let other = thread(world, instance, said.address.as_str()).await?;
        if let Some(known) = world.store().alias(&other).await? {
            said.phone = known.phone();
            said.address = known;
        }
    }
    Ok(inbound)
}

/// The person's thread and its newest conversation. The first message that shows a number beside an identity of which there
/// is a conversation makes the number's thread lead to it; where both have one, people's takeover of either counts for both.
pub(super) async fn person<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: &InboundMessage,
) -> PortResult<(ThreadId, Option<Conversation>)> {
    let instance = &bound.instance.id;
    let own = thread(world, instance, inbound.address.as_str()).await?;
    let (place, newest) = latest(world, own).await?;
    let also = inbound.also.as_ref().filter(|_| !is_stale(world, job, inbound));
    let known = |conversation: &Conversation| conversation.unknown_as(also).is_none();
    let Some(also) = also.filter(|_| !newest.as_ref().is_some_and(known)) else {
        return Ok((place, newest));
    };
    let (elsewhere, theirs) = latest(world, thread(world, instance, also.as_str()).await?).await?;
    let Some(mut theirs) = theirs.filter(|_| elsewhere != place) else {
        return Ok((place, newest));
    };
    let Some(mut newest) = newest else {
        let (id, now) = (ConversationId::new(place, 1), world.ambient().now());
        let (address, phone) = (inbound.address.clone(), inbound.phone.clone());
        let mut leading = Conversation::begin(id, bound, address, phone, now);
        leading.lead_to(&theirs);
        leading.rev = 1;
        return match world.store().update(&leading).await? {
            Written::Yes => Ok((elsewhere, Some(theirs))),
            Written::Conflict => Err(PortError::unavailable("conversation", "others began it")),
        };
    };
    if differ(&newest, &theirs) {
        // What is written with the message follows it; the other one is written before.
        newest.take_over();
        if theirs.take_over() {
            theirs.rev += 1;
            if world.store().update(&theirs).await? == Written::Conflict {
                return Err(PortError::unavailable("conversation", "others kept writing it"));
            }
        }
    }
    Ok((place, Some(newest)))
}

/// Learns that the two names of a message are one person's, and notes on the conversation that this is done. It is written
/// before the conversation: a crash in between leaves it learnt and not noted, and it is learnt again.
pub(super) async fn learn<W: World>(
    world: &W,
    job: &InboundJob,
    conversation: &mut Conversation,
    inbound: &InboundMessage,
) -> PortResult<()> {
    let Some(other) = conversation.unknown_as(inbound.also.as_ref()) else {
        return Ok(());
    };
    // Words of long ago may show a number that the person has given up since.
    if is_stale(world, job, inbound) {
        return Ok(());
    }
    let thread = thread(world, &conversation.instance, other.as_str()).await?;
    world.store().learn_alias(&thread, &inbound.address).await?;
    conversation.known_as = Some(other.clone());
    Ok(())
}
