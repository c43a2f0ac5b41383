//! One person under two names: a message may come under an identity without a number (a linked identity, a business-scoped
//! user id) although its author's conversation is filed under the number. That both are one is learnt from a message that
//! shows both, and asked for only when one comes that shows no number.

mod join;

use super::message::is_stale;
use crate::World;
use crate::identity::thread;
use crate::person::{forget_quiet, latest};
use crate::ports::{Aliases, PortResult};
use join::Joining;
use recado_domain::config::Bound;
use recado_domain::conversation::Conversation;
use recado_domain::event::InboundJob;
use recado_domain::ids::{InstanceId, ThreadId};
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

/// The person's thread and its newest conversation. From the first message on that shows a number beside another identity,
/// the threads of both are one person's.
pub(super) async fn person<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: &InboundMessage,
) -> PortResult<(ThreadId, Option<Conversation>)> {
    let instance = &bound.instance.id;
    let own = thread(world, instance, inbound.address.as_str()).await?;
    let (place, mut newest) = latest(world, own).await?;
    if let Some(newest) = newest.as_mut() {
        forget_quiet(world, newest).await?;
    }
    let also = inbound.also.as_ref().filter(|_| !is_stale(world, job, inbound));
    let known = |conversation: &Conversation| conversation.unknown_as(also).is_none();
    let Some(also) = also.filter(|_| !newest.as_ref().is_some_and(known)) else {
        return Ok((place, newest));
    };
    let other = thread(world, instance, also.as_str()).await?;
    if other == place {
        return Ok((place, newest));
    }
    Joining {
        world,
        bound,
        shown: &inbound.address,
        also,
    }
    .join(place, newest, other)
    .await
}

/// Learns that the two names of a message are one person's, and notes on the conversation that this is done; again, when the
/// person writes from another number. It is written before the conversation: a crash in between leaves it learnt and not noted, and it is learnt again.
pub(super) async fn learn<W: World>(
    world: &W,
    job: &InboundJob,
    conversation: &mut Conversation,
    inbound: &InboundMessage,
) -> PortResult<()> {
    let also = inbound.also.as_ref();
    let is_new_number = !conversation.address.may_be(&inbound.address);
    let Some(other) = also.filter(|also| is_new_number || conversation.unknown_as(Some(also)).is_some())
    else {
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
