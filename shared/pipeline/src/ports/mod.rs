//! What the use cases need from outside, in the language of the domain.
//!
//! Every operation of a store is atomic: one SQL transaction on one machine, one conditional write or one
//! `TransactWriteItems` on DynamoDB. Optimistic concurrency runs through all of them: a record carries `rev`, a caller
//! reads it, applies a transition of the domain (which makes `rev` one more), and writes the result, which the store
//! takes only if the stored `rev` is still the one before. [`WriteOutcome::Conflict`] means: somebody else was faster, read
//! again or come back.
//!
//! What an operation wrote whole is also read whole, within one read and from one read to the next: who has seen a part of
//! it sees the rest. On DynamoDB that is no matter of course (a query may see some of a transaction's records before the
//! others), so its store looks again where parts are missing.

mod aliases;
mod configuration;
mod conversations;
mod dead_letters;
mod dead_queues;
mod deliveries;
mod gauges;
mod history;
mod identity;
mod inbox;
mod instances;
mod llm;
mod notices;
mod outbox;
mod overdue;
mod providers;
mod queues;
mod scheduled;
mod secrets;
mod system;
mod trace;

pub use aliases::ContactAliases;
pub use configuration::ConfigurationStore;
pub use conversations::{
    CommitOutcome, ConversationFilter, Conversations, IdempotencyClaim, IdempotencyRecord, Page, PageRequest,
};
pub use dead_letters::{DeadLetterFilter, DeadLetters};
pub use dead_queues::{DeadLetterQueues, DeadQueueMessage};
pub use deliveries::Deliveries;
pub use gauges::{Gauges, OpenEvent, OpenMessage, OpenWork, QueueDepth, QueueDepths};
pub use history::{HistoryError, HistoryPage, HistoryRecord, HistorySpan};
pub use identity::IdentityKeyStore;
pub use inbox::{InboundWrite, Inbox, RecordEventOutcome, StoreInboundOutcome};
pub use instances::{InstanceStates, Reservation};
pub use llm::{ChatTurn, Llm, LlmError, LlmReply, LlmRequest, Speaker};
pub use notices::Notices;
pub use outbox::{ClaimGuard, ClaimOutcome, DeliveryLink, OutboxStore};
pub use overdue::{OverdueIndex, OverdueWork};
pub use providers::{ConnectionAnswer, OutgoingMessage, Providers, SendEvidence, SendOutcome};
pub use queues::{InboundEntry, Queues};
pub use scheduled::ScheduledMessages;
pub use secrets::Secrets;
pub use system::System;
pub use trace::{CorrelatedRecords, CorrelationIndex};

/// A store or queue that did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// It could not be reached, was throttled or timed out: trying again later may help. Whether the operation took
    /// effect is not known.
    #[error("{what} is unavailable")]
    Unavailable {
        /// Which operation.
        what: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What it holds or was given cannot be read or written: trying again will not help.
    #[error("{what} holds or was given something unreadable")]
    Invalid {
        /// Which operation.
        what: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What it was given is more than a record may hold: trying again will not help.
    #[error("{what} was given {bytes} bytes, and a record holds {RECORD_BYTES_MAX} at most")]
    TooLarge {
        /// Which operation.
        what: &'static str,
        /// How large its JSON is.
        bytes: usize,
    },
}

/// The most bytes of a record's JSON, on every backend alike: an item of DynamoDB holds 400 KB with its names and keys.
pub const RECORD_BYTES_MAX: usize = 360_000;

impl PortError {
    /// Refuses a record of so many bytes if that is too many.
    pub fn check_record_size(what: &'static str, bytes: usize) -> PortResult<()> {
        if bytes > RECORD_BYTES_MAX {
            return Err(Self::TooLarge { what, bytes });
        }
        Ok(())
    }

    /// Wraps the cause of an [`PortError::Unavailable`].
    pub fn unavailable(
        what: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Unavailable {
            what,
            source: source.into(),
        }
    }

    /// Wraps the cause of an [`PortError::Invalid`].
    pub fn invalid(what: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Invalid {
            what,
            source: source.into(),
        }
    }

    /// Whether trying again may help.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

/// What ports return.
pub type PortResult<T> = Result<T, PortError>;

/// Whether a conditional write took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a write that lost must not be taken for one that won"]
pub enum WriteOutcome {
    /// It did.
    Written,
    /// Somebody else had written meanwhile.
    Conflict,
}

/// Everything that keeps records.
pub trait Store:
    Inbox
    + Conversations
    + IdentityKeyStore
    + ContactAliases
    + OutboxStore
    + ScheduledMessages
    + Deliveries
    + Notices
    + InstanceStates
    + DeadLetters
    + ConfigurationStore
    + OverdueIndex
    + Gauges
    + CorrelationIndex
{
}

impl<T> Store for T where
    T: Inbox
        + Conversations
        + IdentityKeyStore
        + ContactAliases
        + OutboxStore
        + ScheduledMessages
        + Deliveries
        + Notices
        + InstanceStates
        + DeadLetters
        + ConfigurationStore
        + OverdueIndex
        + Gauges
        + CorrelationIndex
{
}
