//! What a turn is made of: who drafts, what a timer finds, and why a draft may not be committed.

use crate::ids::{Nonce, Ordinal};
use crate::millis;
use crate::turn::TurnRecord;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The right to draft the next reply. It saves model calls; it is not what keeps replies single.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnLease {
    /// Whose.
    pub nonce: Nonce,
    /// Since when.
    #[serde(with = "millis")]
    pub since: Timestamp,
    /// Until when others wait.
    #[serde(with = "millis")]
    pub until: Timestamp,
    /// When the first message came in since that wants an answer.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub left_since: Option<Timestamp>,
}

/// Model calls begun for one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnAttempts {
    /// For the turn that reads up to here.
    pub upto: Ordinal,
    /// How many.
    pub count: u32,
}

/// What a timer finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnDecision {
    /// Newer messages came, which have timers of their own.
    StandDown,
    /// Nothing is owed, or it is people's to answer.
    NothingOwed,
    /// Another worker drafts; come back then.
    LeaseHeld(Timestamp),
    /// It is ours to answer.
    AnswerNow,
}

/// What a reply may be committed on: the state that its draft was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The lease.
    pub nonce: Nonce,
    /// When it was taken.
    pub since: Timestamp,
    /// What the reply answers: as far as the turn reads.
    pub covers: Ordinal,
    /// Whether more was owed than that.
    pub more_owed: bool,
    /// The epoch it was read in.
    pub epoch: u64,
    /// How far it was answered then.
    pub answered: Ordinal,
    /// Which attempt at this turn it is, from 1.
    pub attempt: u32,
    /// How the turn came about, for those who ask later.
    pub turn: TurnRecord,
}

/// Why a change of a conversation is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConversationError {
    /// It is resolved; a new message begins a new one.
    #[error("the conversation is resolved")]
    Resolved,
    /// People answer now.
    #[error("the conversation was taken over")]
    TakenOver,
    /// It was answered, taken over or resolved since the draft was made.
    #[error("the conversation was answered meanwhile")]
    Answered,
    /// A newer message came than its author had seen.
    #[error("a newer message has come in")]
    NewerMessage,
}
