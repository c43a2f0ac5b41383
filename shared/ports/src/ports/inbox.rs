use super::PortResult;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::{EventRecord, InboundJob, MessagePosition, ProcessingRecord};
use recado_domain::ids::EventId;
use recado_domain::message::Message;
use recado_domain::reason::Reason;

/// The result of recording an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEventOutcome {
    /// The event is new and is recorded as pending now.
    New,
    /// The event was recorded before and is still pending: enqueue it again.
    Pending,
    /// The event was applied or given up before: nothing is to be done.
    Settled,
}

/// An inbound message (from the contact, or typed on the phone) together with its changed conversation.
#[derive(Debug, Clone, Copy)]
pub struct InboundWrite<'a> {
    /// Event that brought the message.
    pub event: &'a EventId,
    /// Conversation after the message got its ordinal. Its `rev` is the one that was read plus one, or 1 if it is new.
    pub conversation: &'a Conversation,
    /// Message to store.
    pub message: &'a Message,
    /// The end of the event, stored with the message. `None`: the event stays pending, since more must be done for it.
    pub finish: Option<&'a EventFinish>,
}

/// The end of an event that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventFinish {
    /// Record of the processing.
    pub processed: ProcessingRecord,
    /// Time at which the event was finished.
    pub at: Timestamp,
    /// Time until which its record is kept.
    pub expires: Timestamp,
    /// Reason for which the event's message was left out; `None` if the event was applied in full.
    pub reason: Option<Reason>,
}

/// A change of an event.
#[derive(Debug, Clone, Copy)]
pub enum EventChange<'a> {
    /// Sets a pending event's attempts to `attempts` if they are still `seen`.
    SetAttempts {
        /// Attempts that the caller read.
        seen: u32,
        /// Attempts that are stored.
        attempts: u32,
    },
    /// Marks a pending event as applied. Its payload is removed, and its record expires at `expires`. An event whose record cannot be
    /// read is settled too.
    Apply {
        /// Time of the change.
        at: Timestamp,
        /// Time until which the record is kept.
        expires: Timestamp,
    },
    /// Marks a pending event as applied, as [`Self::Apply`] does. The same write stores the record of its processing, and the
    /// reason for which its message was left out.
    Finish(&'a EventFinish),
    /// Marks a pending event as dead by the failure of this dead letter. It keeps its payload for a redrive. The same write stores
    /// the dead letter, in place of one with its id: that is of an earlier failure. An event whose record cannot be read is settled
    /// too, and may lose its payload: then the record expires at `expires`.
    GiveUp {
        /// The dead letter.
        dead_letter: &'a DeadLetter,
        /// Time until which a record that cannot be read is kept.
        expires: Timestamp,
    },
    /// Moves an event from `dead` to `pending` if it failed at `failed_at`. Its attempts become 0 and its reason is removed.
    Revive {
        /// Time of the failure.
        failed_at: Timestamp,
    },
    /// Moves an event from `dead` to `applied` for good if it failed at `failed_at`. The reason becomes `purged` and the
    /// payload is removed, so that nobody can redrive the event.
    Purge {
        /// Time of the failure.
        failed_at: Timestamp,
        /// Time of the change.
        at: Timestamp,
        /// Time until which the record is kept.
        expires: Timestamp,
    },
}

/// The result of storing an inbound message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreInboundOutcome {
    /// The message is stored.
    Stored,
    /// The event's message was stored before, at this position.
    AlreadyStored(MessagePosition),
    /// The conversation was changed by another writer, or the event is no longer pending: read again.
    Conflict,
}

/// A store of events and of the messages that they bring.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Records `job` as a pending event if its id is new. An expired record counts as absent.
    async fn record_event(&self, job: &InboundJob) -> PortResult<RecordEventOutcome>;

    /// Returns an event's record by a strong read; `None` if it does not exist.
    async fn find_event(&self, id: &EventId) -> PortResult<Option<EventRecord>>;

    /// Stores an inbound message in one transaction. The event must be pending and have no message yet; its record gets
    /// the message's position (`stored`), and with `write.finish` the event becomes applied, as by [`EventChange::Finish`].
    /// The conversation must be as it was read, and becomes `write.conversation`. The message is added.
    async fn store_inbound(&self, write: InboundWrite<'_>) -> PortResult<StoreInboundOutcome>;

    /// Makes a change of an event in one conditional write. `false`, and nothing is stored: the event does not exist, or is not as
    /// the change needs it.
    async fn change_event(&self, id: &EventId, change: EventChange<'_>) -> PortResult<bool>;

    /// Stores that a pending event is enqueued again at `at`. Returns the event, whose `again` counts this time too; `None`
    /// if the event is not pending.
    async fn record_reenqueue(&self, id: &EventId, at: Timestamp) -> PortResult<Option<EventRecord>>;
}
