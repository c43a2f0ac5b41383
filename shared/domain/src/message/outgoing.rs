//! Outgoing messages: how they are made, and as a type that certainly has an outgoing side.

use super::{Message, Role};
use crate::contact::ContactAddress;
use crate::content::Content;
use crate::context::MessageContext;
use crate::conversation::Conversation;
use crate::ids::{CorrelationId, IdempotencyKey, Ordinal};
use crate::options::SendOptions;
use crate::outbox::{Author, Outbox};
use crate::rate::Rate;
use jiff::Timestamp;
use std::ops::Deref;

/// An outgoing message: a [`Message`] whose `out` is set. It is made once, where the handling of the message begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing(Message);

impl Outgoing {
    /// Returns `message` as an outgoing message. `None` if it came in or was typed on the phone.
    pub fn from_message(message: Message) -> Option<Self> {
        message.out.is_some().then_some(Self(message))
    }

    /// Returns the outgoing side of the message.
    #[expect(clippy::expect_used, reason = "each constructor sees to it")]
    pub fn outbox(&self) -> &Outbox {
        self.0.out.as_ref().expect("an outgoing message")
    }

    /// Returns the outgoing side of the message, to change it.
    #[expect(clippy::expect_used, reason = "each constructor sees to it")]
    pub fn outbox_mut(&mut self) -> &mut Outbox {
        self.0.out.as_mut().expect("an outgoing message")
    }

    /// Stores the provider's id of the message.
    pub fn set_provider_message_id(&mut self, id: Option<String>) {
        self.0.provider_message_id = id;
    }

    /// Returns the message's record.
    pub fn into_message(self) -> Message {
        self.0
    }
}

impl Deref for Outgoing {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.0
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
    /// own rate. [`Outbox::heard_at`] and [`Outbox::beside`] are taken from `conversation`.
    pub fn queue_in(self, conversation: &mut Conversation, now: Timestamp) -> Outgoing {
        let mut out = Outbox::new_queued(self.to, self.author, conversation.epoch, self.covers, now);
        out.heard_at = conversation.last_inbound_at;
        out.beside = conversation.linked_conversations();
        out.options = self.ready.options;
        if let Some(rate) = self.pair_rate
            && let Some(at) = conversation.reserve_pair_slot(rate, now)
        {
            out.delay_until(at);
        }
        Outgoing(Message {
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
            out: Some(out),
        })
    }
}
