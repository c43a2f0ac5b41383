use super::{PortResult, WriteOutcome};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::EventRecord;
use recado_domain::ids::{ConversationId, InstanceId, TenantId};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use std::collections::BTreeSet;

/// Maximum number of messages that [`RecordRemoval::delete_messages`] takes.
pub const DELETED_MESSAGES_MAX: usize = 50;

/// Those whose pending events are listed.
#[derive(Debug, Clone, Copy)]
pub enum EventOwners<'a> {
    /// These FIFO groups. All their events are listed.
    Groups(&'a BTreeSet<String>),
    /// These instances. At most so many events are listed.
    Instances(&'a [Instance], usize),
}

/// A store whose records are found and deleted by their age, of a person or of a tenant. Each deletion of a delivery or a note that
/// does not exist succeeds.
#[async_trait]
pub trait RecordRemoval: Send + Sync {
    /// Lists conversations of `tenant` whose [`Conversation::kept_since`] is `before` or earlier, the earliest first, at
    /// most `limit`. Only conversations that have or had a message are listed. The index may be some seconds old.
    async fn list_kept_since(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<ConversationId>>;

    /// Writes a conversation as [`super::Conversations::update_conversation`] does, and deletes messages of it in the same
    /// transaction. The messages are at most [`DELETED_MESSAGES_MAX`], open ones too. Messages that do not exist are left out.
    /// The list of [`Self::list_kept_since`] follows.
    async fn delete_messages(
        &self,
        conversation: &Conversation,
        messages: &[Message],
    ) -> PortResult<WriteOutcome>;

    /// Deletes the record of a conversation whose messages are deleted, if its `rev` is the stored one. A conversation
    /// that does not exist counts as deleted.
    async fn delete_conversation(&self, conversation: &Conversation) -> PortResult<WriteOutcome>;

    /// Lists the pending events of these owners. The index may be some seconds old.
    async fn list_pending_events(&self, owners: EventOwners<'_>) -> PortResult<Vec<EventRecord>>;

    /// Deletes delivery records and notes that they were erased. Until `expires` a status of them is ignored.
    async fn erase_deliveries(&self, keys: &[DeliveryKey], expires: Timestamp) -> PortResult<()>;

    /// Writes `erased` in the place of the note of the same attempt on this instance, if that note still exists.
    async fn replace_in_flight(&self, instance: &InstanceId, erased: &InFlightSend) -> PortResult<()>;

    /// Overwrites deleted records in the files of the store, so that nothing of them can be read there. A store without
    /// files of its own has nothing to do.
    async fn overwrite_deleted(&self) -> PortResult<()>;

    /// Lists conversations of a tenant that nobody sees, at most `limit`: tombstones, and those in which nobody wrote and that
    /// only lead elsewhere. The index may be some seconds old.
    async fn list_unlisted_conversations(
        &self,
        tenant: &TenantId,
        limit: usize,
    ) -> PortResult<Vec<Conversation>>;

    /// Deletes records of a tenant that belong to no conversation, at most `limit` of each kind, and returns how many: of its
    /// instances the states, parked conversations and notes of in-flight sends; its samples, alerts,
    /// notifications. Entries of its audit stay, but what its configuration held is
    /// taken out of them (`recado_domain::audit::NOT_KEPT`). A store that can find
    /// them deletes its events and queue messages, too. Fewer than `limit`: nothing was left. An index may
    /// be some seconds old.
    async fn delete_tenant_records(
        &self,
        tenant: &TenantId,
        instances: &[Instance],
        limit: usize,
    ) -> PortResult<usize>;
}
