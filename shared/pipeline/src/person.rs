//! One person in several threads: an identity without a number and the number itself may each have a conversation. What
//! comes in goes to one of them, and who has one has them all.

use crate::World;
use crate::identity;
use crate::kick;
use crate::ports::{Aliases, Ambient, Conversations, OutboxStore, PortError, PortResult, Written};
use crate::replies::left;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, Mode, Status};
use recado_domain::ids::{ConversationId, CorrelationId, ThreadId};

/// How often a conversation that others write too is read again.
const TRIES: usize = 5;

/// How many threads are followed at most. Each that is left leads to one that is not.
const THREADS_MAX: usize = 8;

/// The newest conversation of the person whom `thread` names, and the thread that it lies in.
pub(crate) async fn latest<W: World>(
    world: &W,
    thread: ThreadId,
) -> PortResult<(ThreadId, Option<Conversation>)> {
    let latest = world.store().latest(&thread).await?;
    follow(world, thread, latest).await
}

/// Where `newest`, the newest conversation of `thread`, leads, if it leads anywhere.
pub(crate) async fn follow<W: World>(
    world: &W,
    mut thread: ThreadId,
    mut newest: Option<Conversation>,
) -> PortResult<(ThreadId, Option<Conversation>)> {
    for _ in 0..THREADS_MAX {
        let moved_to = newest.as_ref().and_then(|newest| newest.moved_to.as_ref());
        let Some(moved_to) = moved_to else {
            return Ok((thread, newest));
        };
        thread = moved_to.thread().clone();
        newest = world.store().latest(&thread).await?;
    }
    let why = "its threads lead in a circle";
    Err(PortError::unavailable("conversation", why))
}

/// Takes over what else goes on with the person of `conversation`, which people have. Done before that is written: nothing
/// of the agent's is claimed anywhere once it is.
pub(crate) async fn take_over_others<W: World>(
    world: &W,
    conversation: &Conversation,
    correlation: &CorrelationId,
) -> PortResult<()> {
    if conversation.mode != Mode::Manual {
        return Ok(());
    }
    for other in others(world, conversation).await? {
        if let Some(other) = changed(world, other, Mode::Manual).await? {
            tracing::info!("taken over with the person's other conversation");
            kick::change_hands(world, &other.id, correlation).await?;
        }
    }
    Ok(())
}

/// Gives back what else goes on with the person of `conversation`, which the agent has.
pub(crate) async fn give_back_others<W: World>(
    world: &W,
    conversation: &Conversation,
    correlation: &CorrelationId,
) -> PortResult<()> {
    for other in others(world, conversation).await? {
        let other = match changed(world, other.clone(), Mode::Ai).await? {
            Some(changed) => {
                kick::change_hands(world, &changed.id, correlation).await?;
                changed
            }
            // It may have been given back by a request that came no further.
            None => other,
        };
        if other.agent_owes() {
            kick::turn(world, &other, correlation).await?;
        }
    }
    Ok(())
}

/// Writes `conversation` with another mode; `None` if it has it.
async fn changed<W: World>(
    world: &W,
    mut conversation: Conversation,
    mode: Mode,
) -> PortResult<Option<Conversation>> {
    for _ in 0..TRIES {
        let changed = match mode {
            Mode::Manual => conversation.take_over(),
            Mode::Ai => {
                let left = left(world, &conversation, None).await?;
                conversation.give_back(left, world.ambient().now())
            }
        };
        if !changed {
            return Ok(None);
        }
        conversation.rev += 1;
        if world.store().update(&conversation).await? == Written::Yes {
            return Ok(Some(conversation));
        }
        let Some(again) = world.store().conversation(&conversation.id).await? else {
            return Ok(None);
        };
        conversation = again;
    }
    Err(PortError::unavailable("conversation", "others kept writing it"))
}

/// The person's other conversations in which something goes on or may come back: the one that took this one's place, those
/// that were left, and the one under the other identity that is known.
async fn others<W: World>(world: &W, conversation: &Conversation) -> PortResult<Vec<Conversation>> {
    let mut found = Vec::new();
    let mut head = conversation.clone();
    if let Some(moved_to) = &conversation.moved_to
        && let (_, Some(newest)) = latest(world, moved_to.thread().clone()).await?
    {
        found.push(newest.clone());
        head = newest;
    }
    for beside in &head.beside {
        found.extend(world.store().conversation(beside).await?);
    }
    if let Some(thread) = other_thread(world, &head).await? {
        found.extend(world.store().latest(&thread).await?);
    }
    let mut seen: Vec<ConversationId> = vec![conversation.id.clone()];
    found.retain(|other| {
        let goes_on =
            other.listed_as().is_some() && (other.status == Status::Active || other.moved_to.is_some());
        let is_new = !seen.contains(&other.id);
        seen.push(other.id.clone());
        goes_on && is_new
    });
    Ok(found)
}

/// The thread of the person's other identity, where one is known.
async fn other_thread<W: World>(world: &W, conversation: &Conversation) -> PortResult<Option<ThreadId>> {
    let Some(other) = other_name(world, conversation).await? else {
        return Ok(None);
    };
    let thread = identity::thread(world, &conversation.instance, other.as_str()).await?;
    Ok(Some(thread))
}

/// The person's other name, where one is known: the identity beside a number, the number of an identity.
pub(crate) async fn other_name<W: World>(
    world: &W,
    conversation: &Conversation,
) -> PortResult<Option<ContactAddress>> {
    if conversation.known_as.is_some() || !conversation.address.is_numberless() {
        return Ok(conversation.known_as.clone());
    }
    let (instance, address) = (&conversation.instance, conversation.address.as_str());
    let thread = identity::thread(world, instance, address).await?;
    world.store().alias(&thread).await
}

/// Forgets those conversations beside in which nothing is owed any more and nothing on its way: what is made from now on
/// waits for none of theirs.
pub(crate) async fn forget_quiet<W: World>(world: &W, conversation: &mut Conversation) -> PortResult<()> {
    let mut beside = Vec::new();
    for id in std::mem::take(&mut conversation.beside) {
        let left = world.store().conversation(&id).await?;
        // In this order: what is made meanwhile is of what is owed.
        let is_quiet = left.is_none_or(|left| left.is_quiet());
        if !is_quiet || !world.store().open(id.thread()).await?.is_empty() {
            beside.push(id);
        }
    }
    conversation.beside = beside;
    Ok(())
}
