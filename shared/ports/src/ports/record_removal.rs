use super::{PortResult, WriteOutcome};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::EventRecord;
use recado_domain::ids::{ConversationId, InstanceId, TenantId};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::usage::UsageSum;
use std::collections::BTreeSet;
use std::future::Future;

/// Maximum number of messages that [`RecordRemoval::delete_messages`] takes.
pub const DELETED_MESSAGES_MAX: usize = 50;

/// A store whose records are found and deleted by their age, of a person or of a tenant. Each deletion of a delivery or a note that
/// does not exist succeeds.
pub trait RecordRemoval: Send + Sync {
    /// Lists conversations of `tenant` whose [`Conversation::kept_since`] is `before` or earlier, the earliest first, at
    /// most `limit`. Only conversations that have or had a message are listed. The index may be some seconds old.
    fn list_kept_since(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<ConversationId>>> + Send;

    /// Writes a conversation as [`super::Conversations::update_conversation`] does, and deletes messages of it in the same
    /// transaction. The messages are at most [`DELETED_MESSAGES_MAX`], open ones too. Messages that do not exist are left out.
    /// The list of [`Self::list_kept_since`] follows.
    fn delete_messages(
        &self,
        conversation: &Conversation,
        messages: &[Message],
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Deletes the record of a conversation whose messages are deleted, if its `rev` is the stored one. A conversation
    /// that does not exist counts as deleted.
    fn delete_conversation(
        &self,
        conversation: &Conversation,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Replaces a stored message that is not outgoing, if its `rev` is the stored one plus one. A message that is missing
    /// or outgoing is a conflict. The same transaction adds `used` to the sums of the message's tenant.
    fn replace_message(
        &self,
        message: &Message,
        used: Option<&UsageSum>,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Lists the pending events of these FIFO groups, all of them. The index may be some seconds old.
    fn list_pending_events(
        &self,
        groups: &BTreeSet<String>,
    ) -> impl Future<Output = PortResult<Vec<EventRecord>>> + Send;

    /// Deletes delivery records and notes that they were erased. Until `expires` a status of them is ignored.
    fn erase_deliveries(
        &self,
        keys: &[DeliveryKey],
        expires: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Writes `erased` in the place of the note of the same attempt on this instance, if that note still exists.
    fn replace_in_flight(
        &self,
        instance: &InstanceId,
        erased: &InFlightSend,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Overwrites deleted records in the files of the store, so that nothing of them can be read there. A store without
    /// files of its own has nothing to do.
    fn overwrite_deleted(&self) -> impl Future<Output = PortResult<()>> + Send;

    /// Lists the pending events of these instances, at most `limit`. The index may be some seconds old.
    fn list_pending_events_of(
        &self,
        instances: &[Instance],
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<EventRecord>>> + Send;

    /// Lists conversations of a tenant that nobody sees, at most `limit`: tombstones, and those in which nobody wrote and that
    /// only lead elsewhere. The index may be some seconds old.
    fn list_unlisted_conversations(
        &self,
        tenant: &TenantId,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<Conversation>>> + Send;

    /// Deletes records of a tenant that belong to no conversation, at most `limit` of each kind, and returns how many: of its
    /// instances the states, parked conversations and notes of in-flight sends; its samples, alerts,
    /// notifications. Entries of its audit stay, but what its configuration held is
    /// taken out of them (`recado_domain::audit::NOT_KEPT`). A store that can find
    /// them deletes its events and queue messages, too. Fewer than `limit`: nothing was left. An index may
    /// be some seconds old.
    fn delete_tenant_records(
        &self,
        tenant: &TenantId,
        instances: &[Instance],
        limit: usize,
    ) -> impl Future<Output = PortResult<usize>> + Send;
}
