//! The record of a stored message, incoming or outgoing.

mod changes;
mod file;
mod outgoing;

use crate::contact::ContactAddress;
use crate::content::Content;
use crate::context::MessageContext;
use crate::delivery::{Delivery, DeliveryStatus};
use crate::event::webhook_file_key;
use crate::ids::{
    ConversationId, CorrelationId, EventId, IdempotencyKey, InstanceId, MessageId, Ordinal, TenantId,
    TokenName,
};
use crate::millis;
pub use crate::model_use::TokenUsage;
use crate::outbox::{Author, Outbox, OutboxState};
use crate::outgoing::names_upload;
use crate::reason::Reason;
pub use changes::{MessageChanges, MessageEdit, MessageReaction, MessageVersion};
pub use file::{
    FILE_TEXT_CHARS_MAX, FileLoss, FileState, FileText, FoundText, MessageFile, StoredFile, TextGap,
    TranscriptUse, file_key,
};
use jiff::{SignedDuration, Timestamp};
pub use outgoing::{NewOutgoing, Outgoing, OutgoingSide, PreparedContent};
use serde::{Deserialize, Serialize};

/// The side that wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The contact.
    User,
    /// The agent.
    Assistant,
    /// A person of the business: in the console, by the API, or on the phone.
    Operator,
}

/// Name of the simulated model in records, replies and logs.
pub const SIMULATED_MODEL: &str = "simulated";

/// The kind of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelKind {
    /// A real model.
    Real,
    /// The simulated model.
    Simulated,
}

/// The stored record of a message, incoming or outgoing. A message that certainly goes out is an [`Outgoing`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(
    serialize = "Out: Serialize + OutgoingSide",
    deserialize = "Out: Deserialize<'de> + Default"
))]
pub struct Message<Out = Option<Outbox>> {
    /// The conversation that the message belongs to.
    pub conversation: ConversationId,
    /// Place of the message in its conversation, counted from 1.
    pub ordinal: Ordinal,
    /// The tenant that the message belongs to.
    pub tenant: TenantId,
    /// The instance over which the message came in or goes out.
    pub instance: InstanceId,
    /// The side that wrote the message.
    pub role: Role,
    /// Content of the message, such as text, a file or a menu.
    pub content: Content,
    /// Context of the message: the message that it replies to, the advertisement that it comes from, mentions.
    #[serde(default, skip_serializing_if = "MessageContext::is_empty")]
    pub context: MessageContext,
    /// The provider's id of the message; `None` until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_message_id: Option<String>,
    /// Time the message was written. For an incoming message: the provider's time, but no later than the arrival of the
    /// webhook. For an outgoing message: the time it was stored. Only the order in which people and the model read
    /// messages depends on this time.
    #[serde(with = "millis")]
    pub written_at: Timestamp,
    /// The provider's time of writing, if it was later than the arrival of the webhook: the provider's clock ran ahead.
    /// Else `None`.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub told_at: Option<Timestamp>,
    /// Time the message was stored.
    #[serde(with = "millis")]
    pub stored_at: Timestamp,
    /// Correlation id, which follows the message through every queue, record and log line.
    pub correlation: CorrelationId,
    /// The event that brought the message; `None` for an outgoing message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventId>,
    /// Idempotency key with which the client sent the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Reason why no reply to the message is owed, where the message itself does not show it. On a reply of the agent:
    /// the reason for which it is the agent's error message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Reason>,
    /// Name of the model that wrote the message; `None` if no model wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that the model used. A reply of several parts carries them on its first part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Changes of the message after it was written: reactions, edits and a deletion.
    #[serde(default, skip_serializing_if = "MessageChanges::is_empty")]
    pub changes: MessageChanges,
    /// File of the message, as far as Recado has it; `None` if the message has no file that Recado stores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<MessageFile>,
    /// Revision of a message that is not outgoing: it grows each time the message is replaced. (An outgoing message has
    /// [`Outbox::rev`].)
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub rev: u64,
    /// Outgoing side of the message; `None` for a message that came in or was typed on the phone.
    #[serde(default, skip_serializing_if = "OutgoingSide::is_absent")]
    pub out: Out,
}

/// The status of a message as the API reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MessageStatus {
    /// Not yet accepted by the provider.
    Pending,
    /// Accepted by the provider.
    Sent,
    /// Delivered to the recipient's phone.
    Delivered,
    /// Read or played by the recipient.
    Read,
    /// Given up by Recado, or reported as failed by the provider.
    Failed,
    /// Cancelled on purpose before it was sent.
    Cancelled,
}

impl MessageStatus {
    /// Returns the word for the status in the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Message {
    /// Raises the revision, once before each write: that of the outbox, if the message is to be sent.
    pub fn raise_revision(&mut self) {
        match &mut self.out {
            Some(out) => out.rev += 1,
            None => self.rev += 1,
        }
    }
}

impl<Out: OutgoingSide> Message<Out> {
    /// Renders the message, as it was written, as the text that a model or an operator reads: its context, then its
    /// content.
    pub fn render_text(&self) -> String {
        render_with_context(&self.context, &self.content)
    }

    /// Returns the id of the message, made of its conversation and ordinal.
    pub fn message_id(&self) -> MessageId {
        self.conversation.message_id(self.ordinal)
    }

    /// Returns the key under which the bytes of the message's file are stored; `None` if there is nothing to store. An upload that
    /// the message sends is stored there when it is sent.
    pub fn file_key(&self) -> Option<String> {
        let may_be_stored = self.file.is_some() || names_upload(&self.content);
        may_be_stored.then(|| file_key(&self.tenant, &self.message_id()))
    }

    /// Returns the name under which the file lies that the message's webhook held; `None` if it held none.
    pub fn webhook_file_key(&self) -> Option<String> {
        let event = self.event.as_ref()?;
        let file = self.file.as_ref()?;
        file.from_webhook.then(|| webhook_file_key(event))
    }

    /// Returns the kind of the model that wrote the message; `None` if no model wrote it.
    pub fn model_kind(&self) -> Option<ModelKind> {
        self.model.as_deref().map(|name| match name {
            SIMULATED_MODEL => ModelKind::Simulated,
            _ => ModelKind::Real,
        })
    }

    /// Returns the id of the agent's reply that the message belongs to: the id of the reply's first part. `None` if the
    /// agent did not write the message.
    pub fn reply_id(&self) -> Option<MessageId> {
        let out = self.out.outbox().filter(|out| out.author == Author::Ai)?;
        let before = out
            .part
            .map_or(0, |part| u64::from(part.number.saturating_sub(1)));
        let first = Ordinal(self.ordinal.0.saturating_sub(before));
        Some(self.conversation.message_id(first))
    }

    /// Returns the status of the message for the API. `delivery` holds the statuses that the provider reported; they
    /// count only if they are not older than the newest attempt. A contact's message is always
    /// [`MessageStatus::Delivered`].
    pub fn status_with_delivery(&self, delivery: Option<&Delivery>) -> MessageStatus {
        let repeated_at = self.out.outbox().and_then(Outbox::repeated_at);
        let delivered = delivery
            .and_then(|delivery| delivery.status_since_claim(repeated_at))
            .map(|status| match status {
                DeliveryStatus::Sent => MessageStatus::Sent,
                DeliveryStatus::Delivered => MessageStatus::Delivered,
                DeliveryStatus::Read | DeliveryStatus::Played => MessageStatus::Read,
                DeliveryStatus::Failed => MessageStatus::Failed,
            });
        match self.out.outbox().map(|out| &out.state) {
            None if self.role == Role::User => MessageStatus::Delivered,
            None | Some(OutboxState::Sent { .. }) => delivered.unwrap_or(MessageStatus::Sent),
            Some(OutboxState::Queued | OutboxState::Sending { .. } | OutboxState::Unknown { .. }) => {
                MessageStatus::Pending
            }
            Some(OutboxState::Dead { .. }) => MessageStatus::Failed,
            Some(OutboxState::Cancelled { .. }) => MessageStatus::Cancelled,
        }
    }

    /// Returns `true` if this message must leave before `other`, which goes to the same person. Within one thread, the
    /// conversation's number and the ordinal decide. Between two threads, the time of storing decides, but only if
    /// `other` lists a conversation of this message's thread in [`Outbox::beside`]; otherwise `false`.
    pub fn is_sent_before(&self, other: &Self) -> bool {
        let thread = self.conversation.thread_id();
        if thread == other.conversation.thread_id() {
            let place = |message: &Self| (message.conversation.number_in_thread(), message.ordinal);
            return place(self) < place(other);
        }
        let beside = other.out.outbox().into_iter().flat_map(|out| &out.beside);
        let made = |message: &Self| (message.stored_at, message.message_id());
        beside.into_iter().any(|known| known.thread_id() == thread) && made(self) < made(other)
    }

    /// Returns who ordered the message: a token's name, [`TokenName::phone`] if somebody typed it on the phone, or
    /// [`TokenName::other_agent`] if another program wrote it.
    /// `None` for messages of the contact and of the agent.
    pub fn ordered_by(&self) -> Option<TokenName> {
        match self.out.outbox() {
            Some(out) => out.ordered_by().cloned(),
            None if self.context.by_other_agent => Some(TokenName::other_agent()),
            None => (self.role == Role::Operator).then(TokenName::phone),
        }
    }

    /// Returns `true` if the message is queued, being sent or of unknown outcome.
    pub fn is_open(&self) -> bool {
        self.out.outbox().is_some_and(|out| out.state.is_open())
    }

    /// Returns the time from which `reconcile` treats the message as overdue: 5 minutes after the latest of the time it
    /// was stored, its slot and [`Outbox::not_before`], but not before [`Outbox::look_at`]. `None` unless the message is
    /// open, or is dead and its dead letter does not exist yet.
    pub fn overdue_at(&self) -> Option<Timestamp> {
        let out = self.out.outbox()?;
        let waits = out.state.is_open() || (matches!(out.state, OutboxState::Dead { .. }) && !out.copied);
        let since = [out.slot, out.not_before]
            .into_iter()
            .flatten()
            .fold(self.stored_at, Timestamp::max);
        let due = millis::add_duration(since, SignedDuration::from_mins(5));
        waits.then(|| out.look_at.map_or(due, |look_at| look_at.max(due)))
    }

    /// Returns the time from which `reconcile` works on the message's file. It has the bytes fetched, the text read or the bytes
    /// deleted. `None`: nothing is left to do.
    pub fn file_due_at(&self) -> Option<Timestamp> {
        self.file.as_ref().and_then(MessageFile::next_work_time)
    }

    /// Returns the address that the message goes to; `None` if it is not an outgoing message.
    pub fn recipient(&self) -> Option<&ContactAddress> {
        self.out.outbox().map(|out| &out.to)
    }
}

/// Renders content as the text that a model or an operator reads, behind its context.
fn render_with_context(beside: &MessageContext, content: &Content) -> String {
    let (around, text) = (beside.render_text(), content.render_text());
    if around.is_empty() {
        text
    } else {
        format!("{around} {text}")
    }
}
