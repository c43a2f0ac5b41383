//! The data of a turn: the drafting lease, the decisions of a turn job, and the errors that refuse a commit.

use crate::ids::{Nonce, Ordinal};
use crate::millis;
use crate::turn::TurnRecord;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The right of a worker to draft the next reply. The lease only saves model calls: the condition of the commit
/// prevents double replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnLease {
    /// The random name of the lease; the worker that knows it holds the lease.
    pub nonce: Nonce,
    /// Time at which the lease was taken.
    #[serde(with = "millis")]
    pub since: Timestamp,
    /// Time until which other workers wait.
    #[serde(with = "millis")]
    pub until: Timestamp,
    /// Arrival time of the first message after the lease was taken that wants an answer.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub left_since: Option<Timestamp>,
}

/// The model calls begun for a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnAttempts {
    /// The ordinal up to which the turn reads.
    pub upto: Ordinal,
    /// Number of model calls.
    pub count: u32,
}

/// The decision of a turn job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnDecision {
    /// Newer messages came, which have turn jobs of their own.
    StandDown,
    /// No answer is owed, or people are to give it.
    NothingOwed,
    /// Another worker drafts the reply; look again at this time.
    LeaseHeld(Timestamp),
    /// This worker is to answer now.
    AnswerNow,
}

/// The state from which a reply is drafted. The reply is committed only if this state is still current.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The nonce of the lease.
    pub nonce: Nonce,
    /// Time at which the lease was taken.
    pub since: Timestamp,
    /// The ordinal up to which the turn reads and the reply answers.
    pub covers: Ordinal,
    /// `true` if messages beyond `covers` are owed too.
    pub more_owed: bool,
    /// The epoch of the conversation at the lease.
    pub epoch: u64,
    /// The ordinal up to which the conversation was answered at the lease.
    pub answered: Ordinal,
    /// Number of this attempt at the turn, from 1.
    pub attempt: u32,
    /// The record that later tells how the turn came about.
    pub turn: TurnRecord,
}

/// The reasons why a change of a conversation is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConversationError {
    /// The conversation is resolved; a new message begins a new one.
    #[error("the conversation is resolved")]
    Resolved,
    /// People answer now.
    #[error("the conversation was taken over")]
    TakenOver,
    /// The conversation was answered, taken over or resolved after the draft was made.
    #[error("the conversation was answered meanwhile")]
    Answered,
    /// A message came that the author of the change had not seen.
    #[error("a newer message has come in")]
    NewerMessage,
}
