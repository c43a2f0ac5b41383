//! One person under two names: a message may come under an identity without a number (a linked identity, a business-scoped
//! user id) although its author's conversation is filed under the number. That both are one is learnt from a message that
//! shows both, and asked for only when one comes that shows no number.

use super::message::is_stale;
use crate::World;
use crate::identity::thread;
use crate::ports::{Aliases, PortResult};
use recado_domain::conversation::Conversation;
use recado_domain::event::InboundJob;
use recado_domain::ids::InstanceId;
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
