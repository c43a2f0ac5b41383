//! Kicks: who names what is to be looked at.

use crate::World;
use crate::chance::nonce;
use crate::ports::{OutboxStore, PortResult, Queues};
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, CorrelationId, Ordinal};
use recado_domain::kick::{SendKick, TurnKick};
use std::time::Duration;

/// Kicks the sender for everything open up to `upto`. Each kick has a deduplication id of its own: with the message's,
/// the kick of a release inside the queue's five minutes would be swallowed.
pub(crate) async fn send<W: World>(
    world: &W,
    conversation: &ConversationId,
    upto: Ordinal,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let kick = SendKick {
        conversation: conversation.clone(),
        upto,
        correlation: correlation.clone(),
        redrive: None,
    };
    world
        .queues()
        .send_kick(&kick, nonce(world.ambient()).as_str())
        .await
}

/// Kicks the sender if anything of the contact is open. A crash after a commit leaves a message that only this finds, so it stands on
/// every way out of a turn.
pub(crate) async fn flush<W: World>(
    world: &W,
    conversation: &ConversationId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    match world.store().open(conversation.thread()).await?.last() {
        Some(newest) => send(world, &newest.conversation, newest.ordinal, correlation).await,
        None => Ok(()),
    }
}

/// Sends a kick anew that its queue has handed out too often, as it is.
pub(crate) async fn renew<W: World>(world: &W, kick: &SendKick) -> PortResult<()> {
    tracing::warn!("a kick that came back often is sent anew");
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
