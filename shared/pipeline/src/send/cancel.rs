//! A reply that must no longer be sent is void: people have the conversation, or it went on without it. Once void, it is void
//! for ever, since epochs only grow.

use super::{LOST, Step};
use crate::World;
use crate::kick;
use crate::ports::{Ambient, Conversations, OutboxStore, PortResult, Written};
use crate::replies::left;
use recado_domain::conversation::{Conversation, Mode};
use recado_domain::message::Message;
use recado_domain::outbox::{Author, Outbox, OutboxState};
use recado_domain::reason::Reason;
use std::collections::BTreeMap;

/// The newest epoch that is known of each conversation, by its number in the thread.
#[derive(Debug)]
pub(super) struct Epochs(BTreeMap<u32, u64>);

impl Epochs {
    /// What `open` messages tell: a person's answer bears the epoch that its takeover began.
    pub(super) fn of(open: &[Message]) -> Self {
        let mut epochs = Self(BTreeMap::new());
        for message in open {
            if let Some(out) = &message.out {
                epochs.learn(message, out.epoch);
            }
        }
        epochs
    }

    fn learn(&mut self, message: &Message, epoch: u64) {
        let known = self.0.entry(message.conversation.number()).or_default();
        *known = epoch.max(*known);
    }

    /// Notes that the reply `message` was void.
    pub(super) fn note_void(&mut self, message: &Message) {
        if let Some(out) = &message.out {
            self.learn(message, out.epoch.saturating_add(1));
        }
    }

    /// Whether `message` is a reply of an earlier epoch.
    pub(super) fn is_void(&self, message: &Message) -> bool {
        let newest = self.0.get(&message.conversation.number()).copied();
        agents(message).is_some_and(|out| newest > Some(out.epoch))
    }
}

/// The way out of a message of the agent that waits to be sent.
fn agents(message: &Message) -> Option<&Outbox> {
    let out = message.out.as_ref()?;
    (out.author == Author::Ai && out.state == OutboxState::Queued).then_some(out)
}

/// The conversation of a queued reply, if that went on without it.
async fn went_on<W: World>(world: &W, message: &Message) -> PortResult<Option<Conversation>> {
    let Some(out) = agents(message) else {
        return Ok(None);
    };
    let conversation = world.store().conversation(&message.conversation).await?;
    Ok(conversation.filter(|conversation| conversation.mode != Mode::Ai || conversation.epoch != out.epoch))
}

/// Whether `message` is a queued reply that is void by now.
pub(super) async fn is_void<W: World>(world: &W, message: &Message) -> PortResult<bool> {
    Ok(went_on(world, message).await?.is_some())
}

/// Cancels a queued reply if it is void; `None`: it is not.
pub(super) async fn if_void<W: World>(world: &W, message: &Message) -> PortResult<Option<Step>> {
    match went_on(world, message).await? {
        Some(conversation) => write(world, message.clone(), conversation).await.map(Some),
        None => Ok(None),
    }
}

/// Cancels a reply that was found to be void.
pub(super) async fn cancel<W: World>(world: &W, message: &Message) -> PortResult<Step> {
    // Then it is void for ever; if it is not, that was read wrongly.
    Ok(if_void(world, message).await?.unwrap_or(LOST))
}

/// Cancels it; what it certainly never answered is owed again if the agent has the conversation.
async fn write<W: World>(
    world: &W,
    mut message: Message,
    mut conversation: Conversation,
) -> PortResult<Step> {
    let now = world.ambient().now();
    let Some(out) = message.out.as_mut() else {
        return Ok(Step::Next);
    };
    let never_left = out.never_left();
    if out.cancel(now, Reason::TakenOver).is_err() {
        return Ok(LOST);
    }
    if never_left && conversation.mode == Mode::Ai {
        let left = left(world, &conversation, Some(message.ordinal)).await?;
        conversation.uncover(left, now);
    }
    // Written also where nothing changes: a give-back that counted this message as leaving must read again.
    conversation.rev += 1;
    if world
        .store()
        .settle(&message, None, None, Some(&conversation))
        .await?
        == Written::Conflict
    {
        return Ok(LOST);
    }
    tracing::info!(
        ordinal = message.ordinal.0,
        "cancelled: the conversation was taken over"
    );
    if conversation.mode == Mode::Ai && conversation.owes() {
        kick::turn(world, &conversation, &message.correlation).await?;
    }
    Ok(Step::Void)
}
