//! Outgoing messages: they are made here, and they are a type of their own.

use super::{Message, MessageChanges, Role};
use crate::contact::ContactAddress;
use crate::content::Content;
use crate::context::MessageContext;
use crate::conversation::Conversation;
use crate::debounce::asks_short_answer;
use crate::ids::{CorrelationId, IdempotencyKey, Ordinal};
use crate::options::SendOptions;
use crate::outbox::{Author, Outbox, OutboxState};
use crate::rate::Rate;
use jiff::Timestamp;
use std::borrow::Cow;

/// A message that certainly has an outgoing side. It is made once, where the handling of the message begins.
pub type Outgoing = Message<Outbox>;

/// The outgoing side of a [`Message`]: an [`Outbox`], or an `Option` of one where the message may have come in.
pub trait OutgoingSide: Send + Sync {
    /// Returns the outbox; `None` if the message came in or was typed on the phone.
    fn outbox(&self) -> Option<&Outbox>;

    /// Returns `true` if there is no outgoing side.
    fn is_absent(&self) -> bool {
        self.outbox().is_none()
    }
}

impl OutgoingSide for Outbox {
    fn outbox(&self) -> Option<&Outbox> {
        Some(self)
    }
}

impl OutgoingSide for Option<Outbox> {
    fn outbox(&self) -> Option<&Outbox> {
        self.as_ref()
    }
}

impl Message {
    /// Returns the message as it is read until its end is known: queued, although it may be stored with its first attempt.
    pub fn as_first_stored(&self) -> Cow<'_, Self> {
        let out = self.out.as_ref();
        if !out.is_some_and(|out| matches!(out.state, OutboxState::Sending { .. })) {
            return Cow::Borrowed(self);
        }
        let mut first = self.clone();
        if let Some(out) = &mut first.out {
            out.state = OutboxState::Queued;
            out.attempts = 0;
            out.history.truncate(1);
        }
        Cow::Owned(first)
    }

    /// Returns the message as an outgoing message. `None` if it came in or was typed on the phone.
    pub fn into_outgoing(mut self) -> Option<Outgoing> {
        let out = self.out.take()?;
        Some(self.map_out(|_| out))
    }
}

impl Outgoing {
    /// Returns the message's record.
    pub fn into_record(self) -> Message {
        self.map_out(Some)
    }

    /// Returns the content as it is sent: a text with its signature. Other content carries no signature.
    pub fn content_as_sent(&self) -> Cow<'_, Content> {
        match (&self.out.signature, &self.content) {
            (Some(signature), Content::Text { text }) => {
                Cow::Owned(Content::from_text(signature.sign_text(text)))
            }
            _ => Cow::Borrowed(&self.content),
        }
    }

    /// Returns `true` if a person wants the message sent as things are now: it answers what the person has read, or a person had
    /// it sent again.
    pub fn is_persons_word(&self) -> bool {
        let is_answer = self.out.author == Author::Person && !self.out.covers.is_zero();
        is_answer || self.out.history.iter().skip(1).any(|step| step.by.is_some())
    }

    /// Returns a copy of the message's record, as stores take it.
    pub fn to_record(&self) -> Message {
        self.clone().into_record()
    }
}

impl<Before> Message<Before> {
    fn map_out<Out>(self, map: impl FnOnce(Before) -> Out) -> Message<Out> {
        Message {
            conversation: self.conversation,
            ordinal: self.ordinal,
            tenant: self.tenant,
            instance: self.instance,
            role: self.role,
            content: self.content,
            context: self.context,
            provider_message_id: self.provider_message_id,
            written_at: self.written_at,
            told_at: self.told_at,
            stored_at: self.stored_at,
            correlation: self.correlation,
            event: self.event,
            idempotency_key: self.idempotency_key,
            unanswered: self.unanswered,
            model: self.model,
            usage: self.usage,
            changes: self.changes,
            file: self.file,
            rev: self.rev,
            out: map(self.out),
        }
    }
}

/// The content of a message to be sent, checked and ready to be stored.
#[derive(Debug, Clone)]
pub struct PreparedContent {
    /// Content of the message.
    pub content: Content,
    /// Options of the send.
    pub options: SendOptions,
    /// The quoted message and other context that people and the model read with the content.
    pub context: MessageContext,
}

/// A new outgoing message before it is put into its conversation.
#[derive(Debug)]
pub struct NewOutgoing<'a> {
    /// The side that wrote the message.
    pub author: Author,
    /// Address of the recipient.
    pub to: ContactAddress,
    /// Ordinal that the conversation gave to the message.
    pub ordinal: Ordinal,
    /// Ordinal up to which the message answers the contact.
    pub covers: Ordinal,
    /// Content of the message.
    pub ready: PreparedContent,
    /// The contact's own rate; `None` if the provider has none.
    pub pair_rate: Option<Rate>,
    /// Idempotency key with which the client sent the message.
    pub key: Option<&'a IdempotencyKey>,
    /// Correlation id of the request.
    pub correlation: &'a CorrelationId,
}

impl PreparedContent {
    /// Prepares a text without options.
    pub fn from_text(text: String) -> Self {
        Self {
            content: Content::from_text(text),
            options: SendOptions::default(),
            context: MessageContext::default(),
        }
    }
}

impl NewOutgoing<'_> {
    /// Makes the queued message of `conversation`, written and stored at `now`, and reserves its slot in the contact's
    /// own rate. [`Outbox::last_inbound_at`] and [`Outbox::beside`] are taken from `conversation`, which notes a question
    /// with options, and whether the message asks for a short answer.
    pub fn queue_in(self, conversation: &mut Conversation, now: Timestamp) -> Outgoing {
        let mut out = Outbox::new_queued(self.to, self.author, conversation.epoch, self.covers, now);
        out.last_inbound_at = conversation.contact.last_inbound_at;
        out.beside = conversation.linked_conversations();
        out.options = self.ready.options;
        if self.ready.content.offers_options() {
            conversation.questions.open_question = self.ordinal;
        }
        conversation.questions.asked = asks_short_answer(&self.ready.content);
        if let Some(rate) = self.pair_rate
            && let Some(at) = conversation.reserve_pair_slot(rate, now)
        {
            out.delay_until(at);
        }
        Message {
            conversation: conversation.id.clone(),
            ordinal: self.ordinal,
            tenant: conversation.tenant.clone(),
            instance: conversation.instance.clone(),
            role: match self.author {
                Author::Ai => Role::Assistant,
                Author::Person => Role::Operator,
            },
            content: self.ready.content,
            context: self.ready.context,
            provider_message_id: None,
            written_at: now,
            told_at: None,
            stored_at: now,
            correlation: self.correlation.clone(),
            event: None,
            idempotency_key: self.key.cloned(),
            unanswered: None,
            model: None,
            usage: None,
            changes: MessageChanges::default(),
            file: None,
            rev: 0,
            out,
        }
    }
}
