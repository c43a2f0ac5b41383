//! A stored message, in or out.

use crate::contact::ContactAddress;
use crate::content::Content;
use crate::context::MessageContext;
use crate::conversation::Conversation;
use crate::delivery::{Delivery, DeliveryStatus};
use crate::ids::{
    ConversationId, CorrelationId, EventId, IdempotencyKey, InstanceId, MessageId, Ordinal, TenantId,
};
use crate::millis;
use crate::outbox::{Author, Outbox, OutboxState};
use crate::reason::Reason;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Whose words they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The contact.
    User,
    /// The agent.
    Assistant,
    /// A person of the business: in the console, by the API, or on the phone.
    Operator,
}

/// Tokens that a model call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Read from the prompt, without what came from the cache.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
    /// Read from the prompt cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// Written to the prompt cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
}

/// A message's record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The conversation.
    pub conversation: ConversationId,
    /// Its place there.
    pub ordinal: Ordinal,
    /// Whose.
    pub tenant: TenantId,
    /// On which instance.
    pub instance: InstanceId,
    /// Whose words.
    pub role: Role,
    /// What it says.
    pub content: Content,
    /// What stands around it.
    #[serde(default, skip_serializing_if = "MessageContext::is_empty")]
    pub context: MessageContext,
    /// The provider's id, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_message_id: Option<String>,
    /// When it was written: as the provider says for what came in, else when it was stored. Orders what people and the
    /// model read, and nothing else.
    #[serde(with = "millis")]
    pub written_at: Timestamp,
    /// When it was written by the provider's clock, where that was ahead of ours when it arrived.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub told_at: Option<Timestamp>,
    /// When it was stored.
    #[serde(with = "millis")]
    pub stored_at: Timestamp,
    /// Follows it everywhere.
    pub correlation: CorrelationId,
    /// The event that brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventId>,
    /// The client's key that it was sent under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Why no answer is owed to it, where that is not evident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Reason>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What that cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Its way out; absent for what came in or was typed on the phone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out: Option<Outbox>,
}

/// A message's status in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// Not yet with the provider.
    Pending,
    /// With the provider.
    Sent,
    /// On the phone.
    Delivered,
    /// Seen.
    Read,
    /// Given up.
    Failed,
    /// Not sent, on purpose.
    Cancelled,
}

impl Message {
    /// A message of `conversation` that goes out from `now` on.
    pub fn new_outgoing(
        conversation: &Conversation,
        ordinal: Ordinal,
        role: Role,
        content: Content,
        out: Outbox,
        now: Timestamp,
        correlation: &CorrelationId,
    ) -> Self {
        let out = Outbox {
            heard_at: conversation.last_inbound_at,
            beside: conversation.linked_conversations(),
            ..out
        };
        Self {
            conversation: conversation.id.clone(),
            ordinal,
            tenant: conversation.tenant.clone(),
            instance: conversation.instance.clone(),
            role,
            content,
            context: MessageContext::default(),
            provider_message_id: None,
            written_at: now,
            told_at: None,
            stored_at: now,
            correlation: correlation.clone(),
            event: None,
            idempotency_key: None,
            unanswered: None,
            model: None,
            usage: None,
            out: Some(out),
        }
    }

    /// What a model and an operator read: what stands around it, and what it says.
    pub fn render_text(&self) -> String {
        let (around, text) = (self.context.render_text(), self.content.render_text());
        if around.is_empty() {
            text
        } else {
            format!("{around} {text}")
        }
    }

    /// Its id.
    pub fn message_id(&self) -> MessageId {
        self.conversation.message_id(self.ordinal)
    }

    /// The reply of the agent that it is or is a part of, by its first part; `None` for what people and clients send.
    pub fn reply_id(&self) -> Option<MessageId> {
        let out = self.out.as_ref().filter(|out| out.author == Author::Ai)?;
        let before = out
            .part
            .map_or(0, |part| u64::from(part.number.saturating_sub(1)));
        let first = Ordinal(self.ordinal.0.saturating_sub(before));
        Some(self.conversation.message_id(first))
    }

    /// Its status for the API, with what is known of its delivery. What came in was delivered to us.
    pub fn status_with_delivery(&self, delivery: Option<&Delivery>) -> MessageStatus {
        let claimed_at = self.out.as_ref().and_then(Outbox::last_claimed_at);
        let delivered = delivery
            .and_then(|delivery| delivery.status_since_claim(claimed_at))
            .map(|status| match status {
                DeliveryStatus::Sent => MessageStatus::Sent,
                DeliveryStatus::Delivered => MessageStatus::Delivered,
                DeliveryStatus::Read | DeliveryStatus::Played => MessageStatus::Read,
                DeliveryStatus::Failed => MessageStatus::Failed,
            });
        match self.out.as_ref().map(|out| &out.state) {
            None if self.role == Role::User => MessageStatus::Delivered,
            None | Some(OutboxState::Sent { .. }) => delivered.unwrap_or(MessageStatus::Sent),
            Some(OutboxState::Queued | OutboxState::Sending { .. } | OutboxState::Unknown { .. }) => {
                MessageStatus::Pending
            }
            Some(OutboxState::Dead { .. }) => MessageStatus::Failed,
            Some(OutboxState::Cancelled { .. }) => MessageStatus::Cancelled,
        }
    }

    /// Whether it leaves before `other`, which goes to the same person: by conversation and ordinal in one thread; in two by
    /// when they were made, if `other` knows of this one's.
    pub fn is_sent_before(&self, other: &Self) -> bool {
        let thread = self.conversation.thread_id();
        if thread == other.conversation.thread_id() {
            let place = |message: &Self| (message.conversation.number_in_thread(), message.ordinal);
            return place(self) < place(other);
        }
        let beside = other.out.iter().flat_map(|out| &out.beside);
        let made = |message: &Self| (message.stored_at, message.message_id());
        beside.into_iter().any(|known| known.thread_id() == thread) && made(self) < made(other)
    }

    /// Whether it is on its way out.
    pub fn is_open(&self) -> bool {
        self.out.as_ref().is_some_and(|out| out.state.is_open())
    }

    /// When it is overdue, if it is open: 5 minutes after it was stored, after its slot, or after the time
    /// that it waits for; not before it is to be looked at again.
    pub fn overdue_at(&self) -> Option<Timestamp> {
        let out = self.out.as_ref()?;
        let waits = out.state.is_open() || (matches!(out.state, OutboxState::Dead { .. }) && !out.copied);
        let since = [out.slot, out.not_before]
            .into_iter()
            .flatten()
            .fold(self.stored_at, Timestamp::max);
        let due = millis::add_millis(since, 5 * 60_000);
        waits.then(|| out.look_at.map_or(due, |look_at| look_at.max(due)))
    }

    /// To whom it goes, if it goes out.
    pub fn recipient(&self) -> Option<&ContactAddress> {
        self.out.as_ref().map(|out| &out.to)
    }
}
