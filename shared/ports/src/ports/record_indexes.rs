use recado_domain::event::EventRecord;
use recado_domain::ids::{ConversationId, EventId, InstanceId, Ordinal};
use recado_domain::instance::ParkedConversation;
use recado_domain::message::Message;

/// The records that carry one correlation id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CorrelatedRecords {
    /// Events with the correlation id.
    pub events: Vec<EventRecord>,
    /// Messages with the correlation id; open ones in their current state.
    pub messages: Vec<Message>,
}

/// A record that has been open for too long, as the index of open records names it. The table has others, which their features list.
///
/// Some kinds are records of features. Code that handles those of the path of a message leaves them to the features.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OverdueWork {
    /// An event that was recorded and not applied.
    Event(EventId),
    /// An outgoing message that was not sent.
    Outgoing {
        /// Conversation of the message.
        conversation: ConversationId,
        /// Ordinal of the message in the conversation.
        ordinal: Ordinal,
    },
    /// A conversation in which an answer is owed.
    Owed(ConversationId),
    /// An instance whose provider is to be asked again.
    Probe(InstanceId),
    /// A parked conversation whose time has come.
    Parked(ParkedConversation),
    /// A message whose file is to be fetched.
    File {
        /// Conversation of the message.
        conversation: ConversationId,
        /// Ordinal of the message in the conversation.
        ordinal: Ordinal,
    },
}
