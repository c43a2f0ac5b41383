use super::PortResult;
use jiff::Timestamp;
use recado_domain::event::EventRecord;
use recado_domain::ids::{ConversationId, InstanceId, Ordinal};
use recado_domain::instance::ParkedConversation;
use recado_domain::scheduled::ScheduledId;
use std::future::Future;

/// Something that has been open too long.
#[derive(Debug, Clone, PartialEq)]
pub enum OverdueWork {
    /// An event that was recorded and not applied.
    Event(Box<EventRecord>),
    /// An outgoing message that was not sent.
    Outgoing {
        /// Its conversation.
        conversation: ConversationId,
        /// Its place there.
        ordinal: Ordinal,
    },
    /// A conversation that is owed an answer.
    Owed(ConversationId),
    /// An instance that is to be asked again.
    Probe(InstanceId),
    /// A parked conversation whose time has come.
    Parked(ParkedConversation),
    /// A message that was to be sent later and is due.
    Scheduled(ScheduledId),
}

/// A sparse index of open records, for `reconcile`. Every record that is open carries when it is overdue
/// (`EventRecord::due`, `Message::due`, `Conversation::due`, `InstanceState::due`, `ParkedConversation::due`, `ScheduledMessage::due`); the store keeps that
/// in an index together with the record. The index may be some seconds old.
pub trait OverdueIndex: Send + Sync {
    /// What was due at `now` or before, the longest overdue first, at most `limit` of each kind: much of one kind must not
    /// hide another.
    fn list_overdue(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<OverdueWork>>> + Send;
}
