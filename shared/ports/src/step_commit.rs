//! One commit for a step of the message's path: its records, the jobs that follow from them, and the acknowledgement.
//! `Deps::commit_step` of the use cases makes it.

use crate::ports::{DeliveryLink, InboundWrite, RecordEventOutcome, StoreInboundOutcome, WriteOutcome};
use crate::table::Write;
use recado_domain::conversation::Conversation;
use recado_domain::event::{InboundJob, MessagePosition};
use recado_domain::ids::InstanceId;
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::wake_up::{OutboundJob, TurnsJob};
use std::time::Duration;

/// A step of the message's path, as it is committed.
#[derive(Debug)]
pub struct StepCommit<'a> {
    /// Records, all of which are written, or none.
    pub records: StepRecords<'a>,
    /// Jobs that are enqueued once the records are written, in their order.
    pub jobs: Vec<StepJob>,
    /// `true`: nothing is left to do for the queue message that the caller handles. A store that can acknowledges it in the same
    /// transaction; elsewhere the caller's verdict does it.
    pub acknowledges: bool,
    /// `true`: the caller takes care of the jobs where records and queues lie apart ([`StepOutcome::JobsLeft`]).
    pub takes_jobs: bool,
}

/// The records of a step.
#[derive(Debug)]
pub enum StepRecords<'a> {
    /// Events, each of which is recorded as pending and enqueued on `inbound`, unless it is settled. They are independent: each has
    /// an outcome.
    Events(&'a [InboundJob]),
    /// An inbound message, as [`crate::ports::Inbox::store_inbound`] stores it.
    Inbound(InboundWrite<'a>),
    /// A reply, as [`crate::ports::Conversations::commit_messages`] stores it.
    Reply(ReplyWrite<'a>),
    /// A message that has left, as [`crate::ports::OutboxStore::settle_message`] stores it.
    Settlement(SettlementWrite<'a>),
}

/// A reply and its conversation.
#[derive(Debug, Clone, Copy)]
pub struct ReplyWrite<'a> {
    /// Conversation after the reply. Its `rev` is the one that was read plus one.
    pub conversation: &'a Conversation,
    /// Messages of the reply, by ordinal.
    pub parts: &'a [Message],
    /// Writes of the table that are made beside them.
    pub beside: &'a [Write],
}

/// A message that the provider accepted.
#[derive(Debug, Clone, Copy)]
pub struct SettlementWrite<'a> {
    /// Message under its new state.
    pub message: &'a Message,
    /// Attempt whose answer tells the outcome; `None` if it was found out in another way.
    pub finished_send: Option<&'a InFlightSend>,
    /// Link from the provider's id to the message.
    pub link: Option<&'a DeliveryLink>,
}

/// A job that follows from the records of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepJob {
    /// A job of `turns`, handed out after a delay of at most 15 minutes.
    Turns(TurnsJob, Duration),
    /// A new job of `outbound` for a message of this instance.
    Outbound(OutboundJob, InstanceId),
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepOutcome {
    /// The events are recorded: what recording each of them found, in their order.
    Recorded(Vec<RecordEventOutcome>),
    /// The records are written, and the jobs are enqueued.
    Committed,
    /// The records are written, and no job is enqueued. The caller sends at once, and enqueues the other jobs and what it cannot
    /// finish.
    JobsLeft,
    /// The event's message was stored before, at this position. Nothing was written.
    AlreadyStored(MessagePosition),
    /// Another writer was faster. Nothing was written.
    Conflict,
}

impl From<StoreInboundOutcome> for StepOutcome {
    fn from(stored: StoreInboundOutcome) -> Self {
        match stored {
            StoreInboundOutcome::Stored => Self::Committed,
            StoreInboundOutcome::AlreadyStored(place) => Self::AlreadyStored(place),
            StoreInboundOutcome::Conflict => Self::Conflict,
        }
    }
}

impl From<WriteOutcome> for StepOutcome {
    fn from(written: WriteOutcome) -> Self {
        match written {
            WriteOutcome::Written => Self::Committed,
            WriteOutcome::Conflict => Self::Conflict,
        }
    }
}

impl StepRecords<'_> {
    /// Returns the name of the commit of these records, for logs and measures.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Events(_) => "commit_events",
            Self::Inbound(_) => "commit_inbound",
            Self::Reply(_) => "commit_reply",
            Self::Settlement(_) => "commit_settlement",
        }
    }
}
