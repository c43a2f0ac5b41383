//! Cancels void replies: a person has the conversation, or the conversation went on without the reply. A void reply
//! stays void, because epochs only grow.

use super::{RETRY_SOON, SendStep};
use crate::Deps;
use crate::ports::{Conversations, OutboxStore, PortResult, System, WriteOutcome};
use crate::steps::reply_coverage::highest_covered_ordinal;
use crate::steps::wake_up;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::message::Message;
use recado_domain::outbox::{Author, Outbox, OutboxState};
use recado_domain::reason::Reason;
use std::collections::BTreeMap;

/// The newest known epoch of each conversation, by the conversation's number in the thread.
#[derive(Debug)]
pub(super) struct NewestEpochs(BTreeMap<u32, u64>);

impl NewestEpochs {
    /// Collects the newest epochs from `open` messages. A person's answer carries the epoch that its takeover began.
    pub(super) fn from_open_messages(open: &[Message]) -> Self {
        let mut epochs = Self(BTreeMap::new());
        for message in open {
            if let Some(out) = &message.out {
                epochs.record_epoch(message, out.epoch);
            }
        }
        epochs
    }

    fn record_epoch(&mut self, message: &Message, epoch: u64) {
        let known = self.0.entry(message.conversation.number_in_thread()).or_default();
        *known = epoch.max(*known);
    }

    /// Records that the reply `message` was void, so its conversation has a newer epoch.
    pub(super) fn record_void_reply(&mut self, message: &Message) {
        if let Some(out) = &message.out {
            self.record_epoch(message, out.epoch.saturating_add(1));
        }
    }

    /// Returns `true` if `message` is a queued reply of an earlier epoch.
    pub(super) fn is_void_reply(&self, message: &Message) -> bool {
        let newest = self.0.get(&message.conversation.number_in_thread()).copied();
        queued_ai_outbox(message).is_some_and(|out| newest > Some(out.epoch))
    }
}

/// Returns the outbox of a message that is the agent's and `queued`.
fn queued_ai_outbox(message: &Message) -> Option<&Outbox> {
    let out = message.out.as_ref()?;
    (out.author == Author::Ai && out.state == OutboxState::Queued).then_some(out)
}

/// Returns the conversation of a queued reply that is void. `None` if the reply is not void, or `message` is no queued
/// reply.
async fn load_if_reply_void<W: Deps>(deps: &W, message: &Message) -> PortResult<Option<Conversation>> {
    let Some(out) = queued_ai_outbox(message) else {
        return Ok(None);
    };
    let conversation = deps.store().find_conversation(&message.conversation).await?;
    Ok(conversation
        .filter(|conversation| conversation.mode != ConversationMode::Ai || conversation.epoch != out.epoch))
}

/// Returns `true` if `message` is a queued reply that is void now.
pub(super) async fn reply_is_void<W: Deps>(deps: &W, message: &Message) -> PortResult<bool> {
    Ok(load_if_reply_void(deps, message).await?.is_some())
}

/// Cancels a queued reply if it is void. Returns `None` if it is not void.
pub(super) async fn cancel_if_void<W: Deps>(deps: &W, message: &Message) -> PortResult<Option<SendStep>> {
    match load_if_reply_void(deps, message).await? {
        Some(conversation) => write_cancellation(deps, message.clone(), conversation)
            .await
            .map(Some),
        None => Ok(None),
    }
}

/// Cancels a reply that was found to be void. If it is not void when it is read again, the send job is retried soon.
pub(super) async fn cancel_void_reply<W: Deps>(deps: &W, message: &Message) -> PortResult<SendStep> {
    // A void reply stays void; if the reply is not void now, the earlier read was wrong.
    Ok(cancel_if_void(deps, message).await?.unwrap_or(RETRY_SOON))
}

/// Stores the cancellation of a void reply. If the agent has the conversation and the reply was certainly not sent, the
/// messages that only this reply covered are owed an answer again.
async fn write_cancellation<W: Deps>(
    deps: &W,
    mut message: Message,
    mut conversation: Conversation,
) -> PortResult<SendStep> {
    let now = deps.system().now();
    let Some(out) = message.out.as_mut() else {
        return Ok(SendStep::Next);
    };
    let never_left = out.is_certainly_unsent();
    if out.mark_cancelled(now, Reason::TakenOver).is_err() {
        return Ok(RETRY_SOON);
    }
    if never_left && conversation.mode == ConversationMode::Ai {
        let left = highest_covered_ordinal(deps, &conversation, Some(message.ordinal)).await?;
        conversation.reopen_unanswered(left, now);
    }
    // The conversation is written even if nothing changes: a give-back that counted this message as a valid reply must
    // read again.
    conversation.rev += 1;
    if deps
        .store()
        .settle_message(&message, None, None, Some(&conversation))
        .await?
        == WriteOutcome::Conflict
    {
        return Ok(RETRY_SOON);
    }
    tracing::info!(
        ordinal = message.ordinal.0,
        "cancelled: the conversation was taken over"
    );
    if conversation.mode == ConversationMode::Ai && conversation.owes_answer() {
        wake_up::enqueue_turn(deps, &conversation, &message.correlation).await?;
    }
    Ok(SendStep::Void)
}
