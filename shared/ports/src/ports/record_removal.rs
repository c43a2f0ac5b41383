use super::{PortResult, WriteOutcome};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::event::EventRecord;
use recado_domain::ids::{ConversationId, TenantId};
use recado_domain::message::Message;
use std::collections::BTreeSet;

/// Maximum number of messages that [`DeletedPart::Messages`] holds.
pub const DELETED_MESSAGES_MAX: usize = 50;

/// Those whose pending events are listed.
#[derive(Debug, Clone, Copy)]
pub enum EventOwners<'a> {
    /// These FIFO groups. All their events are listed.
    Groups(&'a BTreeSet<String>),
    /// These instances. At most so many events are listed.
    Instances(&'a [Instance], usize),
}

/// The part of a conversation that is deleted.
#[derive(Debug, Clone, Copy)]
pub enum DeletedPart<'a> {
    /// These messages, at most [`DELETED_MESSAGES_MAX`], open ones too. Messages that do not exist are left out. The conversation is
    /// written as [`super::Conversations::update_conversation`] does. The list of [`RecordRemoval::list_kept_since`] follows.
    Messages(&'a [Message]),
    /// The record of the conversation, whose messages are deleted, if its `rev` is the stored one. A conversation that does not exist
    /// counts as deleted.
    Record,
}

/// A store whose records are found and deleted by their age, of a person or of a tenant.
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

    /// Deletes a part of a conversation in one transaction.
    async fn delete_part_of(
        &self,
        conversation: &Conversation,
        part: DeletedPart<'_>,
    ) -> PortResult<WriteOutcome>;

    /// Lists the pending events of these owners. The index may be some seconds old.
    async fn list_pending_events(&self, owners: EventOwners<'_>) -> PortResult<Vec<EventRecord>>;

    /// Overwrites deleted records in the files of the store, so that nothing of them can be read there. A store without
    /// files of its own has nothing to do.
    async fn overwrite_deleted(&self) -> PortResult<()>;

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
