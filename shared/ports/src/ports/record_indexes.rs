use super::PortResult;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::event::EventRecord;
use recado_domain::ids::{ConversationId, CorrelationId, EventId, InstanceId, Ordinal, TenantId};
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

/// Indexes find records: overdue ones for `reconcile`, and those of one correlation id for people who investigate. They may be some
/// seconds old.
///
/// Every open record has a time at which it becomes overdue (`EventRecord::overdue_at`, `Message::overdue_at`,
/// `Conversation::answer_overdue_at`, `InstanceState::next_probe_at`, `ParkedConversation::release_due_at`,
/// `Message::file_due_at`). The store keeps that time in an index together with what [`OverdueWork`] names of the record.
#[async_trait]
pub trait RecordIndexes: Send + Sync {
    /// Lists the records that were overdue at `now`, the longest overdue first. At most `limit` of each kind are listed,
    /// so that many of one kind do not hide another.
    async fn list_overdue(&self, now: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>>;

    /// Returns the records that carry `correlation`, in any order, at most `limit` in all. They are those of `tenant`, or of
    /// all tenants (`None`). An event is of the tenant of its instance as configured now. No processing step depends on it.
    async fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> PortResult<CorrelatedRecords>;
}
