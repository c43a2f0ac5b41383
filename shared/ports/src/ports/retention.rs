use super::{PortResult, WriteOutcome};
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, TenantId};
use recado_domain::message::Message;
use recado_domain::usage::UsageSum;
use std::future::Future;

/// Maximum number of messages that [`RetainedRecords::delete_messages`] takes.
pub const DELETED_MESSAGES_MAX: usize = 50;

/// A store of records that are kept for a time, and deleted then.
pub trait RetainedRecords: Send + Sync {
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
}
