use super::PortResult;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::event::{EventRecord, InboundJob, MessagePosition, ProcessingRecord};
use recado_domain::ids::EventId;
use recado_domain::message::Message;
use recado_domain::reason::Reason;
use std::future::Future;

/// What recording an event found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEventOutcome {
    /// It is new: it is recorded as pending now.
    New,
    /// It was recorded before and is still owed: enqueue it again.
    Pending,
    /// It was applied or given up before: nothing to do.
    Settled,
}

/// A message of the contact (or one typed on the phone), with its conversation as it is with it.
#[derive(Debug)]
pub struct InboundWrite<'a> {
    /// The event that brought it.
    pub event: &'a EventId,
    /// The conversation with the message numbered; its `rev` is one more than was read, or 1 for a new one.
    pub conversation: &'a Conversation,
    /// The message.
    pub message: &'a Message,
}

/// What storing an inbound message found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreInboundOutcome {
    /// It is stored.
    Stored,
    /// The event's message was stored before, there.
    AlreadyStored(MessagePosition),
    /// The conversation was changed meanwhile (or the event is no longer pending): read again.
    Conflict,
}

/// Events and what they bring in.
pub trait Inbox: Send + Sync {
    /// Records `job` as a pending event, on condition that its id is new. An expired record counts as absent.
    fn record_event(&self, job: &InboundJob) -> impl Future<Output = PortResult<RecordEventOutcome>> + Send;

    /// The event's record, read strongly.
    fn find_event(&self, id: &EventId) -> impl Future<Output = PortResult<Option<EventRecord>>> + Send;

    /// In one transaction: the event is pending and has no message yet, and gets this one (`stored`); the conversation
    /// is as read, and becomes `write.conversation`; the message is put.
    fn store_inbound(
        &self,
        write: InboundWrite<'_>,
    ) -> impl Future<Output = PortResult<StoreInboundOutcome>> + Send;

    /// Makes a pending event applied (`reason` absent; its payload is dropped) or dead (the payload is kept for
    /// redrive). The record expires at `expires` if it is applied. A settled event stays as it is.
    fn settle_event(
        &self,
        id: &EventId,
        reason: Option<Reason>,
        at: Timestamp,
        expires: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Makes a pending event applied, as [`Self::settle_event`] without a reason, and keeps in the same write how that
    /// was done.
    fn finish_event(
        &self,
        id: &EventId,
        processed: &ProcessingRecord,
        at: Timestamp,
        expires: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Sets a pending event's attempts from `seen`, as was read, to `attempts`. `false` if there is no such event, it is
    /// not pending, or somebody else changed them meanwhile.
    fn set_event_attempts(
        &self,
        id: &EventId,
        seen: u32,
        attempts: u32,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// `dead → pending`, with its attempts back at 0 and no reason, if it died at `died`. `false` if it is not dead, or
    /// of another death.
    fn revive_event(&self, id: &EventId, died: Timestamp) -> impl Future<Output = PortResult<bool>> + Send;

    /// `dead → applied` for good, with the reason `purged` and without its payload, if it died at `died`: nobody redrives
    /// it any more. The record expires at `expires`. `false` if it is not dead, or of another death.
    fn purge_event(
        &self,
        id: &EventId,
        died: Timestamp,
        at: Timestamp,
        expires: Timestamp,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Notes that a pending event was enqueued again at `at`; returns how often that was, 0 if it is not pending.
    fn record_reenqueue(&self, id: &EventId, at: Timestamp) -> impl Future<Output = PortResult<u32>> + Send;
}
