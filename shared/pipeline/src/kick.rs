//! Kicks: who names what is to be looked at.

use crate::World;
use crate::chance::nonce;
use crate::ports::{OutboxStore, PortResult, Queues};
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, CorrelationId};
use recado_domain::kick::{SendKick, TurnKick};
use recado_domain::message::Message;
use std::time::Duration;

/// Kicks the sender for everything open up to `message`, in its group.
pub(crate) async fn send<W: World>(
    world: &W,
    message: &Message,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let kick = SendKick::new(message.conversation.clone(), message.ordinal, correlation.clone());
    anew(world, &kick.beside(message)).await
}

/// Kicks the sender if anything of the contact is open, in the group of what is to be sent first. A crash after a commit
/// leaves a message that only this finds, so it stands on every way out of a turn.
pub(crate) async fn flush<W: World>(
    world: &W,
    conversation: &ConversationId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let open = world.store().open(conversation.thread()).await?;
    let (Some(first), Some(newest)) = (open.first(), open.last()) else {
        return Ok(());
    };
    let upto = newest.conversation.clone();
    let kick = SendKick::new(upto, newest.ordinal, correlation.clone());
    anew(world, &kick.beside(first)).await
}

/// Kicks the sender if anything of the contact is open whose conversation changes hands, in the contact's own group: what
/// waits there is not the agent's, so replies that are void now are cancelled at once.
pub(crate) async fn change_hands<W: World>(
    world: &W,
    conversation: &ConversationId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let open = world.store().open(conversation.thread()).await?;
    let Some(newest) = open.last() else { return Ok(()) };
    let upto = newest.conversation.clone();
    anew(world, &SendKick::new(upto, newest.ordinal, correlation.clone())).await
}

/// Sends a kick to the end of its group. Each has a deduplication id of its own: with the message's, the kick of a release
/// inside the queue's five minutes would be swallowed.
pub(crate) async fn anew<W: World>(world: &W, kick: &SendKick) -> PortResult<()> {
    world
        .queues()
        .send_kick(kick, nonce(world.ambient()).as_str())
        .await
}

/// Asks for the turn of a conversation, at once.
pub(crate) async fn turn<W: World>(
    world: &W,
    conversation: &Conversation,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let kick = TurnKick {
        conversation: conversation.id.clone(),
        tenant: conversation.tenant.clone(),
        ordinal: conversation.turn_upto,
        correlation: correlation.clone(),
        due: None,
    };
    world.queues().send_turn(&kick, Duration::ZERO).await
}
