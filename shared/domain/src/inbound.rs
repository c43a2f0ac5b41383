//! The content of a provider's webhook after parsing, in a single form for all providers.

use crate::contact::ContactAddress;
use crate::content::Content;
use crate::context::MessageContext;
use crate::delivery::StatusUpdate;
use crate::event::EventKind;
use crate::identity::IdentityKey;
use crate::ids::{EventId, ExternalId};
use crate::notice::Notice;
use crate::provider::Provider;
use crate::reason::Reason;
use crate::thread_hold::ThreadControl;
use crate::typing::TypingUpdate;
use jiff::Timestamp;
use serde_json::Value;

/// An item of a webhook. The items of a webhook are handled independently of each other.
#[derive(Debug, Clone)]
pub enum WebhookItem {
    /// An event, which is recorded, enqueued and processed.
    Event(WebhookEvent),
    /// A delivery status, which is recorded by a conditional write, without a queue.
    Status(StatusUpdate),
    /// A delivery status that tells that the provider charges the message. The charge is recorded with it, once.
    ChargedStatus {
        /// The status.
        update: StatusUpdate,
        /// The provider that charges.
        provider: Provider,
        /// The provider's name of the instance whose message it is.
        external: ExternalId,
    },
    /// A notice about the account, not about a message. It is recorded by a conditional write, without a queue.
    Notice {
        /// The notice.
        notice: Notice,
        /// The instance whose own secret proved the webhook; the notice must then concern that instance's account.
        /// `None`: the proof is the provider's and holds for every account.
        proven_by: Option<ExternalId>,
    },
    /// A sign that a contact types. It is kept for a minute where typing is waited for, without a queue, and may be lost.
    Typing(TypingUpdate),
    /// An item that is authentic, but unknown or of no use. It is counted, logged and acknowledged.
    Ignored {
        /// A word or two about the item (never with personal data).
        what: String,
    },
}

impl WebhookItem {
    /// Makes an item that is ignored. `what` holds a word or two about it, without personal data.
    pub fn ignored(what: impl Into<String>) -> Self {
        Self::Ignored { what: what.into() }
    }

    /// Returns the delivery status, with a charge or without one; `None` for other items.
    pub fn as_delivery_status(&self) -> Option<&StatusUpdate> {
        match self {
            Self::Status(update) | Self::ChargedStatus { update, .. } => Some(update),
            _ => None,
        }
    }
}

/// An event as the webhook function sees it, with enough data to record and route it. The processor reads the body.
#[derive(Debug, Clone)]
pub struct WebhookEvent {
    /// The event's id.
    pub id: EventId,
    /// The provider that sent the webhook.
    pub provider: Provider,
    /// The provider's name of the instance.
    pub external: ExternalId,
    /// The kind of the event.
    pub kind: EventKind,
    /// The contact that the event concerns, if any.
    pub address: Option<ContactAddress>,
    /// The provider's JSON of this event, which the processor reads.
    pub payload: Value,
    /// `true` if another event may look exactly like this one, because the provider gave neither an id nor a time.
    pub lookalike: bool,
    /// The file of the message as standard Base64, if the webhook holds it.
    pub file: Option<String>,
}

impl WebhookEvent {
    /// Returns the event's FIFO group on the queue `inbound`: a group for each contact of an instance.
    pub fn derive_group(&self, key: &IdentityKey) -> String {
        // The event of a failed delivery waits until its message is known. In a group of its own it delays no other
        // event meanwhile.
        let place = match self.kind {
            EventKind::Failed => Some(self.id.as_str()),
            EventKind::Message | EventKind::Connection => self.address.as_ref().map(ContactAddress::as_str),
        };
        key.derive_event_group(self.provider, &self.external, place)
    }
}

/// The content of an event's body after parsing.
#[derive(Debug, Clone, PartialEq)]
pub enum InboundEvent {
    /// A message.
    Message(Box<InboundMessage>),
    /// An edit or a deletion of an earlier message, as the content says. Address and author in the body may be wrong;
    /// those of the earlier message count.
    Change(Box<InboundMessage>),
    /// The failure of a message that the provider had accepted.
    Failed(FailedDelivery),
    /// A change of the instance's connection. The provider must be asked for the present state, because events carry no
    /// order.
    ConnectionChanged,
    /// An event of no use to Recado: groups, broadcasts, newsletters and the like.
    Ignored {
        /// A word or two about the event.
        what: String,
    },
}

impl InboundEvent {
    /// Makes an event that is ignored. `what` holds a word or two about it, without personal data.
    pub fn ignored(what: impl Into<String>) -> Self {
        Self::Ignored { what: what.into() }
    }
}

/// A message from a webhook or from the provider's history.
#[derive(Debug, Clone, PartialEq)]
pub struct InboundMessage {
    /// The contact with whom the conversation is.
    pub address: ContactAddress,
    /// The same person's identity without a number (linked identity, business-scoped user id). It is present if the
    /// message shows it beside `address`, which then holds the number.
    pub numberless_identity: Option<ContactAddress>,
    /// The phone number of the address, if known.
    pub phone: Option<String>,
    /// The name that the contact gives itself.
    pub name: Option<String>,
    /// The provider's message id.
    pub provider_message_id: Option<String>,
    /// `true` if the business typed the message on its own phone, or Recado sent it (an echo). `false`: the contact
    /// wrote the message.
    pub from_me: bool,
    /// Time at which the message was written, by the provider's clock.
    pub sent_at: Option<Timestamp>,
    /// The message's content.
    pub content: Content,
    /// The message's context, such as the message that it replies to.
    pub context: MessageContext,
    /// The reason why the message is stored and no answer to it is owed, whatever its content; `None`: its content decides.
    pub not_owed: Option<Reason>,
    /// The holder of the contact's thread, as far as the event shows it; `None` if it shows nothing.
    pub thread: Option<ThreadControl>,
}

/// The failure of a message that the provider had accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedDelivery {
    /// The delivery that failed, and the time of the failure.
    pub update: StatusUpdate,
    /// The address to which the message was sent, if the provider tells it.
    pub to: Option<ContactAddress>,
    /// The provider's reason, as a code and a title, without personal data.
    pub error: String,
    /// The reason in Recado's own terms.
    pub reason: Reason,
}
