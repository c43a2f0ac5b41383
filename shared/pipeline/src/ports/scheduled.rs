use super::{Committed, KeyClaim, PortResult, Written};
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_domain::scheduled::{Scheduled, ScheduledId};
use std::future::Future;

/// Messages that are to be sent later. [`super::Overdue`] finds those that are due.
pub trait Scheduling: Send + Sync {
    /// In one transaction: a new scheduled message, and the client's key, if there is one, on condition that it is new or
    /// expired; the key names the scheduled message. An id that exists is a conflict.
    fn put_scheduled(
        &self,
        scheduled: &Scheduled,
        key: Option<&KeyClaim>,
    ) -> impl Future<Output = PortResult<Committed>> + Send;

    /// The scheduled message, read strongly.
    fn scheduled(&self, id: &ScheduledId) -> impl Future<Output = PortResult<Option<Scheduled>>> + Send;

    /// Writes a scheduled message whose `rev` is one more than the stored one's.
    fn save_scheduled(&self, scheduled: &Scheduled) -> impl Future<Output = PortResult<Written>> + Send;

    /// In one transaction: a scheduled message falls due, as in [`Self::save_scheduled`], and the message that it became
    /// is committed with its conversation, as in [`super::Conversations::commit`].
    fn fall_due(
        &self,
        scheduled: &Scheduled,
        conversation: &Conversation,
        message: &Message,
    ) -> impl Future<Output = PortResult<Written>> + Send;
}
