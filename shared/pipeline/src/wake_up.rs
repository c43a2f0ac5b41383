//! Kicks: who names what is to be looked at.

use crate::Deps;
use crate::ports::{OutboxStore, PortResult, Queues};
use crate::random_id::generate_nonce;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, CorrelationId};
use recado_domain::message::Message;
use recado_domain::wake_up::{SendJob, TurnJob};
use std::time::Duration;

/// Kicks the sender for everything open up to `message`, in its group.
pub(crate) async fn enqueue_send<W: Deps>(
    deps: &W,
    message: &Message,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let kick = SendJob::new(message.conversation.clone(), message.ordinal, correlation.clone());
    requeue_send(deps, &kick.in_group_of(message)).await
}

/// Kicks the sender if anything of the contact is open, in the group of what is to be sent first. A crash after a commit
/// leaves a message that only this finds, so it stands on every way out of a turn.
pub(crate) async fn enqueue_open_sends<W: Deps>(
    deps: &W,
    conversation: &ConversationId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let open = deps.store().list_open_messages(conversation.thread_id()).await?;
    let (Some(first), Some(newest)) = (open.first(), open.last()) else {
        return Ok(());
    };
    let upto = newest.conversation.clone();
    let kick = SendJob::new(upto, newest.ordinal, correlation.clone());
    requeue_send(deps, &kick.in_group_of(first)).await
}

/// Kicks the sender if anything of the contact is open whose conversation changes hands, in the contact's own group: what
/// waits there is not the agent's, so replies that are void now are cancelled at once.
pub(crate) async fn enqueue_after_handover<W: Deps>(
    deps: &W,
    conversation: &ConversationId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let open = deps.store().list_open_messages(conversation.thread_id()).await?;
    let Some(newest) = open.last() else { return Ok(()) };
    let upto = newest.conversation.clone();
    requeue_send(deps, &SendJob::new(upto, newest.ordinal, correlation.clone())).await
}

/// Sends a kick to the end of its group. Each has a deduplication id of its own: with the message's, the kick of a release
/// inside the queue's five minutes would be swallowed.
pub(crate) async fn requeue_send<W: Deps>(deps: &W, kick: &SendJob) -> PortResult<()> {
    deps.queues()
        .enqueue_send_job(kick, generate_nonce(deps.system()).as_str())
        .await
}

/// Asks for the turn of a conversation, at once.
pub(crate) async fn enqueue_turn<W: Deps>(
    deps: &W,
    conversation: &Conversation,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let kick = TurnJob {
        conversation: conversation.id.clone(),
        tenant: conversation.tenant.clone(),
        ordinal: conversation.turn_upto,
        correlation: correlation.clone(),
        due: None,
    };
    deps.queues().enqueue_turn_job(&kick, Duration::ZERO).await
}
