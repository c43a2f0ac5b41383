use super::{CommitOutcome, IdempotencyClaim, PortResult, WriteOutcome};
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage};
use std::future::Future;

/// Messages that are to be sent later. [`super::OverdueIndex`] finds those that are due.
pub trait ScheduledMessages: Send + Sync {
    /// In one transaction: a new scheduled message, and the client's key, if there is one, on condition that it is new or
    /// expired; the key names the scheduled message. An id that exists is a conflict.
    fn put_scheduled(
        &self,
        scheduled: &ScheduledMessage,
        key: Option<&IdempotencyClaim>,
    ) -> impl Future<Output = PortResult<CommitOutcome>> + Send;

    /// The scheduled message, read strongly.
    fn find_scheduled(
        &self,
        id: &ScheduledId,
    ) -> impl Future<Output = PortResult<Option<ScheduledMessage>>> + Send;

    /// Writes a scheduled message whose `rev` is one more than the stored one's.
    fn save_scheduled(
        &self,
        scheduled: &ScheduledMessage,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// In one transaction: a scheduled message falls due, as in [`Self::save_scheduled`], and the message that it became
    /// is committed with its conversation, as in [`super::Conversations::commit_message`].
    fn commit_scheduled(
        &self,
        scheduled: &ScheduledMessage,
        conversation: &Conversation,
        message: &Message,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;
}
