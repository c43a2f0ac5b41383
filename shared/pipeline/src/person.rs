//! One person in several threads: an identity without a number and the number itself may each have a conversation. A thread
//! that only leads to another one says so in its newest record; where both had conversations before it was known that they
//! are one person's, a takeover of one is a takeover of the other.

use crate::World;
use crate::identity;
use crate::ports::{Aliases, Conversations, PortError, PortResult, Written};
use recado_domain::conversation::{Conversation, Mode, Status};
use recado_domain::ids::ThreadId;

/// How often a conversation that others write too is read again.
const TRIES: usize = 5;

/// The newest conversation of the person whom `thread` names, and the thread that it lies in.
pub(crate) async fn latest<W: World>(
    world: &W,
    thread: ThreadId,
) -> PortResult<(ThreadId, Option<Conversation>)> {
    let mut thread = thread;
    // A thread that is led to leads nowhere itself, so two reads suffice.
    for _ in 0..2 {
        let latest = world.store().latest(&thread).await?;
        match latest.as_ref().and_then(|newest| newest.moved_to.as_ref()) {
            Some(moved_to) => thread = moved_to.thread().clone(),
            None => return Ok((thread, latest)),
        }
    }
    Err(PortError::unavailable(
        "conversation",
        "its threads lead in a circle",
    ))
}

/// Takes over what else goes on with the person of `conversation`, under another identity, if people have this one.
pub(crate) async fn take_over_others<W: World>(world: &W, conversation: &Conversation) -> PortResult<()> {
    if conversation.mode != Mode::Manual {
        return Ok(());
    }
    for _ in 0..TRIES {
        let Some(mut other) = other(world, conversation).await? else {
            return Ok(());
        };
        if other.id == conversation.id || other.status != Status::Active || !other.take_over() {
            return Ok(());
        }
        other.rev += 1;
        if world.store().update(&other).await? == Written::Yes {
            tracing::info!(conversation_id = %other.id, "taken over with the person's other conversation");
            return Ok(());
        }
    }
    Err(PortError::unavailable("conversation", "others kept writing it"))
}

/// The newest conversation under the person's other identity, where one is known.
async fn other<W: World>(world: &W, conversation: &Conversation) -> PortResult<Option<Conversation>> {
    let instance = &conversation.instance;
    let other = match &conversation.known_as {
        Some(known_as) => Some(known_as.clone()),
        None if conversation.address.is_numberless() => {
            let thread = identity::thread(world, instance, conversation.address.as_str()).await?;
            world.store().alias(&thread).await?
        }
        None => None,
    };
    let Some(other) = other else { return Ok(None) };
    let thread = identity::thread(world, instance, other.as_str()).await?;
    Ok(latest(world, thread).await?.1)
}

/// Whether both are active and only one of them is people's: then the other is to be taken over.
pub(crate) fn differ(one: &Conversation, other: &Conversation) -> bool {
    let active = one.status == Status::Active && other.status == Status::Active;
    active && one.id != other.id && (one.mode == Mode::Manual) != (other.mode == Mode::Manual)
}
