use super::{CommitOutcome, IdempotencyClaim, PortResult, WriteOutcome};
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage};
use std::future::Future;

/// A store of messages that are to be sent later. [`super::OverdueIndex`] finds those that are due.
pub trait ScheduledMessages: Send + Sync {
    /// Stores a new scheduled message and, if given, the client's idempotency key, in one transaction. The key must be
    /// new or expired; it then names the scheduled message. An id that exists is a conflict.
    fn put_scheduled(
        &self,
        scheduled: &ScheduledMessage,
        key: Option<&IdempotencyClaim>,
    ) -> impl Future<Output = PortResult<CommitOutcome>> + Send;

    /// Returns a scheduled message by a strong read; `None` if it does not exist.
    fn find_scheduled(
        &self,
        id: &ScheduledId,
    ) -> impl Future<Output = PortResult<Option<ScheduledMessage>>> + Send;

    /// Writes a scheduled message if its `rev` is the stored `rev` plus one.
    fn save_scheduled(
        &self,
        scheduled: &ScheduledMessage,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Stores a scheduled message that fell due together with the message that it became, in one transaction. The
    /// scheduled message is written as in [`Self::save_scheduled`], the message and its conversation as in
    /// [`super::Conversations::commit_message`].
    fn commit_scheduled(
        &self,
        scheduled: &ScheduledMessage,
        conversation: &Conversation,
        message: &Message,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;
}
