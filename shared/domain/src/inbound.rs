//! What a provider's webhook was found to hold, in one form for all providers.

use crate::contact::ContactAddress;
use crate::content::Content;
use crate::context::MessageContext;
use crate::delivery::StatusUpdate;
use crate::event::EventKind;
use crate::ids::{EventId, ExternalId};
use crate::notice::Notice;
use crate::provider::Provider;
use crate::reason::Reason;
use jiff::Timestamp;
use serde_json::Value;

/// One part of a webhook: each has its own fate.
#[derive(Debug, Clone)]
pub enum WebhookItem {
    /// Recorded, enqueued and processed.
    Event(WebhookEvent),
    /// Recorded by one conditional write, without a queue.
    Status(StatusUpdate),
    /// Of the account, not of a message: recorded by one conditional write, without a queue.
    Notice {
        /// What is told.
        notice: Notice,
        /// The instance whose own secret proved it, which may speak of that instance's account only. `None`: the proof is
        /// the provider's, for every account.
        proven_by: Option<ExternalId>,
    },
    /// Authentic, but not understood or of no use: counted, logged and acknowledged.
    Ignored {
        /// What it was, in a word or two (never with personal data).
        what: String,
    },
}

/// An event as the webhook function sees it: enough to record and route it. The body is read by the processor.
#[derive(Debug, Clone)]
pub struct WebhookEvent {
    /// Its id.
    pub id: EventId,
    /// Where it comes from.
    pub provider: Provider,
    /// The provider's name of the instance.
    pub external: ExternalId,
    /// What it is about.
    pub kind: EventKind,
    /// The contact it concerns, where it concerns one.
    pub address: Option<ContactAddress>,
    /// What the processor reads: the provider's JSON of this one event.
    pub payload: Value,
    /// Whether another event may look just like it, since the provider gave it neither an id nor a time.
    pub lookalike: bool,
}

/// What an event's body says, once read.
#[derive(Debug, Clone, PartialEq)]
pub enum InboundEvent {
    /// A message.
    Message(Box<InboundMessage>),
    /// A message that came before was edited or taken back (the content says which and how). Address and author are as
    /// the body says, which may be wrong: those of the message that it is about count.
    Change(Box<InboundMessage>),
    /// An accepted message failed after all.
    Failed(FailedDelivery),
    /// The instance's connection changed, to what must be asked: events carry no order.
    ConnectionChanged,
    /// Nothing for us: groups, broadcasts, newsletters and the like.
    Ignored {
        /// What it was.
        what: String,
    },
}

/// A message that came in.
#[derive(Debug, Clone, PartialEq)]
pub struct InboundMessage {
    /// With whom the conversation is.
    pub address: ContactAddress,
    /// The same person's identity without a number (linked identity, business-scoped user id), where the message shows it
    /// beside `address`, which then has the number.
    pub numberless_identity: Option<ContactAddress>,
    /// The phone number behind the address, where one is known.
    pub phone: Option<String>,
    /// The contact's name for itself.
    pub name: Option<String>,
    /// The provider's id.
    pub provider_message_id: Option<String>,
    /// Typed by the business on its own phone (or an echo of what we sent), not by the contact.
    pub from_me: bool,
    /// When it was written, as the provider says.
    pub sent_at: Option<Timestamp>,
    /// What it says.
    pub content: Content,
    /// What stands around it.
    pub context: MessageContext,
}

/// An accepted message that failed after all.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedDelivery {
    /// Which delivery, and when.
    pub update: StatusUpdate,
    /// To whom the message went, where that is told.
    pub to: Option<ContactAddress>,
    /// The provider's reason, as a code and a title; no personal data.
    pub error: String,
    /// The same in our words.
    pub reason: Reason,
}
