//! What the queues `outbound` and `turns` carry: names of what is to be looked at, never the thing itself.

use crate::ids::{ConversationId, CorrelationId, MessageId, Ordinal, TenantId, ThreadId};
use crate::message::Message;
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What a kick on `outbound` carries: send everything open of the contact up to this ordinal of this conversation, what is
/// left of earlier conversations first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendJob {
    /// The conversation.
    pub conversation: ConversationId,
    /// Up to which ordinal; [`SendJob::ALL_OPEN`] takes everything that the contact has open.
    pub upto: Ordinal,
    /// Follows it everywhere.
    pub correlation: CorrelationId,
    /// A dead letter's message to be revived first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redrive: Option<Redrive>,
    /// The reply of the agent in whose group it stands, as [`Message::reply_id`] names it. A takeover makes a reply void, and
    /// what comes then must not stand behind a kick that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<MessageId>,
}

impl SendJob {
    /// A kick in the contact's own group for everything open up to `upto`.
    pub fn new(conversation: ConversationId, upto: Ordinal, correlation: CorrelationId) -> Self {
        Self {
            conversation,
            upto,
            correlation,
            redrive: None,
            reply: None,
        }
    }

    /// As [`SendJob::upto`]: also what lies in later conversations of the contact.
    pub const ALL_OPEN: Ordinal = Ordinal(u64::MAX);

    /// Whose messages it is about: all conversations of one contact are sent in one order.
    pub fn thread_id(&self) -> &ThreadId {
        self.conversation.thread_id()
    }

    /// The FIFO group that it stands in: the contact's, or that of a reply of the agent.
    pub fn queue_group(&self) -> &str {
        let contacts = self.thread_id().as_str();
        self.reply.as_ref().map_or(contacts, MessageId::as_str)
    }

    /// The same kick in the group in which `message` is worked on.
    #[must_use]
    pub fn in_group_of(self, message: &Message) -> Self {
        Self {
            reply: message.reply_id(),
            ..self
        }
    }

    /// Whether it takes `message`.
    pub fn includes_message(&self, message: &Message) -> bool {
        let upto = (self.conversation.number_in_thread(), self.upto);
        self.upto == Self::ALL_OPEN || (message.conversation.number_in_thread(), message.ordinal) <= upto
    }
}

/// Which death of which message a redrive undoes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redrive {
    /// The message.
    pub message: MessageId,
    /// When it died.
    #[serde(with = "millis")]
    pub died: Timestamp,
}

/// What a timer on `turns` carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnJob {
    /// The conversation.
    pub conversation: ConversationId,
    /// Whose conversation it is: the queue shares its workers fairly between tenants.
    pub tenant: TenantId,
    /// The message whose timer it is.
    pub ordinal: Ordinal,
    /// Follows it everywhere.
    pub correlation: CorrelationId,
    /// For a schedule: the minute it was due, so that a late one can be told from a new one.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}
