//! A reply that must no longer be sent is void: people have the conversation, or it went on without it. Once void, it is void
//! for ever, since epochs only grow.

use super::{RETRY_SOON, SendStep};
use crate::Deps;
use crate::ports::{Conversations, OutboxStore, PortResult, System, WriteOutcome};
use crate::reply_coverage::highest_covered_ordinal;
use crate::wake_up;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::message::Message;
use recado_domain::outbox::{Author, Outbox, OutboxState};
use recado_domain::reason::Reason;
use std::collections::BTreeMap;

/// The newest epoch that is known of each conversation, by its number in the thread.
#[derive(Debug)]
pub(super) struct NewestEpochs(BTreeMap<u32, u64>);

impl NewestEpochs {
    /// What `open` messages tell: a person's answer bears the epoch that its takeover began.
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

    /// Notes that the reply `message` was void.
    pub(super) fn record_void_reply(&mut self, message: &Message) {
        if let Some(out) = &message.out {
            self.record_epoch(message, out.epoch.saturating_add(1));
        }
    }

    /// Whether `message` is a reply of an earlier epoch.
    pub(super) fn is_void_reply(&self, message: &Message) -> bool {
        let newest = self.0.get(&message.conversation.number_in_thread()).copied();
        queued_ai_outbox(message).is_some_and(|out| newest > Some(out.epoch))
    }
}

/// The way out of a message of the agent that waits to be sent.
fn queued_ai_outbox(message: &Message) -> Option<&Outbox> {
    let out = message.out.as_ref()?;
    (out.author == Author::Ai && out.state == OutboxState::Queued).then_some(out)
}

/// The conversation of a queued reply, if that went on without it.
async fn load_if_reply_void<W: Deps>(deps: &W, message: &Message) -> PortResult<Option<Conversation>> {
    let Some(out) = queued_ai_outbox(message) else {
        return Ok(None);
    };
    let conversation = deps.store().find_conversation(&message.conversation).await?;
    Ok(conversation
        .filter(|conversation| conversation.mode != ConversationMode::Ai || conversation.epoch != out.epoch))
}

/// Whether `message` is a queued reply that is void by now.
pub(super) async fn reply_is_void<W: Deps>(deps: &W, message: &Message) -> PortResult<bool> {
    Ok(load_if_reply_void(deps, message).await?.is_some())
}

/// Cancels a queued reply if it is void; `None`: it is not.
pub(super) async fn cancel_if_void<W: Deps>(deps: &W, message: &Message) -> PortResult<Option<SendStep>> {
    match load_if_reply_void(deps, message).await? {
        Some(conversation) => write_cancellation(deps, message.clone(), conversation)
            .await
            .map(Some),
        None => Ok(None),
    }
}

/// Cancels a reply that was found to be void.
pub(super) async fn cancel_void_reply<W: Deps>(deps: &W, message: &Message) -> PortResult<SendStep> {
    // Then it is void for ever; if it is not, that was read wrongly.
    Ok(cancel_if_void(deps, message).await?.unwrap_or(RETRY_SOON))
}

/// Cancels it; what it certainly never answered is owed again if the agent has the conversation.
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
    // Written also where nothing changes: a give-back that counted this message as leaving must read again.
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
