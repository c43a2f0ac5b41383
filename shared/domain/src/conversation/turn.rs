//! The turn: the drafting lease, the decisions of a turn job, the commit of a reply and the errors that refuse it.

use super::{Conversation, ConversationMode};
use crate::ids::{Nonce, Ordinal};
use crate::millis::{self, add_duration};
use crate::turn::TurnRecord;
use jiff::{SignedDuration, Timestamp};
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

impl ConversationMode {
    /// Returns the mode in which an instance begins a conversation.
    pub(super) fn of_new_conversation(starts_with_ai: bool) -> Self {
        if starts_with_ai { Self::Ai } else { Self::Manual }
    }
}

/// Pause before the next nudge. A nudge asks for an owed answer. The pause is 5 minutes at first;
/// while nobody can answer it doubles, up to an hour.
const NUDGE: SignedDuration = SignedDuration::from_mins(5);
const NUDGE_MAX: SignedDuration = SignedDuration::from_hours(1);

/// The times that `reconcile` asked for the owed answer of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwedNudges {
    /// Time at which `reconcile` last asked for the owed answer.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub nudged_at: Option<Timestamp>,
    /// Number of times in a row that `reconcile` asked in vain: the instance never opens, or is no longer configured.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub idle_nudges: u32,
}

impl Conversation {
    /// Decides what the turn job of message `named` does at `now`. If a newer message wants an answer, the job leaves
    /// the turn to that message's job. The oldest unanswered message waits at most `max_wait` in this way.
    pub fn decide_turn(&self, named: Ordinal, now: Timestamp, max_wait: SignedDuration) -> TurnDecision {
        let young = self
            .waiting_since
            .is_some_and(|since| now < add_duration(since, max_wait));
        if self.turn_upto > named && young {
            return TurnDecision::StandDown;
        }
        if !self.agent_owes_answer() {
            return TurnDecision::NothingOwed;
        }
        match &self.lease {
            Some(lease) if lease.until > now => TurnDecision::LeaseHeld(lease.until),
            _ => TurnDecision::AnswerNow,
        }
    }

    /// Returns how long the turn job of a message that arrives at `now` waits: for `silence`, but not longer than until the
    /// oldest unanswered message has waited for `max_wait`, or for this silence if that is longer.
    pub fn bound_silence(
        &self,
        silence: SignedDuration,
        now: Timestamp,
        max_wait: SignedDuration,
    ) -> SignedDuration {
        let since = self.waiting_since.unwrap_or(now);
        let left = add_duration(since, max_wait.max(silence)).duration_since(now);
        silence.min(left.max(SignedDuration::ZERO))
    }

    /// Returns the time at which the agent's owed answer, or its return, is overdue. `None`: neither is owed. An answer is
    /// overdue 5 minutes after it was owed or last asked for. If it waits for an opening, it is overdue 2 minutes after
    /// the opening, and at least a minute after it was last asked for. While nobody can answer, the pause after each
    /// request doubles, up to an hour.
    pub fn answer_overdue_at(&self) -> Option<Timestamp> {
        if !self.agent_owes_answer() {
            return self.return_overdue_at();
        }
        let since = self.waiting_since.unwrap_or(self.last_message_at);
        let nudged = self.nudges.nudged_at.map_or(since, |nudged| nudged.max(since));
        let spaced = |first: SignedDuration| {
            let doublings = self.nudges.idle_nudges.saturating_sub(1).min(10);
            add_duration(nudged, first.saturating_mul(1 << doublings).min(NUDGE_MAX))
        };
        Some(match self.opening.scheduled_for {
            Some(at) => {
                add_duration(at, SignedDuration::from_mins(2)).max(spaced(SignedDuration::from_mins(1)))
            }
            None => spaced(NUDGE),
        })
    }

    /// Records that `reconcile` asks for the answer at `now`. `idle`: nobody can give the answer.
    pub fn record_nudge(&mut self, idle: bool, now: Timestamp) {
        self.nudges.nudged_at = Some(now);
        self.nudges.idle_nudges = if idle {
            self.nudges.idle_nudges.saturating_add(1)
        } else {
            0
        };
    }

    /// Takes the lease of the turn, which reads the owed messages up to `covers`, and counts an attempt. Returns the
    /// state from which the reply is drafted.
    pub fn acquire_lease(
        &mut self,
        nonce: Nonce,
        covers: Ordinal,
        now: Timestamp,
        until: Timestamp,
    ) -> Draft {
        let upto = covers.min(self.turn_upto);
        if self.attempts.upto != upto {
            self.attempts = TurnAttempts { upto, count: 0 };
        }
        self.attempts.count += 1;
        self.lease = Some(TurnLease {
            nonce: nonce.clone(),
            since: now,
            until,
            left_since: None,
        });
        let turn = TurnRecord {
            began_at: now,
            attempt: self.attempts.count,
            asked_at: self.waiting_since,
            // A message that came after the opening may be answered before the time of the turn that waited.
            opening: self.opening.scheduled_for.take().map(|at| at.min(now)),
            ..TurnRecord::default()
        };
        self.nudges.idle_nudges = 0;
        Draft {
            nonce,
            since: now,
            covers: upto,
            more_owed: upto < self.turn_upto,
            epoch: self.epoch,
            answered: self.answered,
            attempt: self.attempts.count,
            turn,
        }
    }

    /// Gives the lease back if `nonce` still holds it, and returns whether it did. `counted`: the attempt stays
    /// counted.
    pub fn release_lease(&mut self, nonce: &Nonce, counted: bool) -> bool {
        let ours = self.lease.as_ref().is_some_and(|lease| lease.nonce == *nonce);
        if ours {
            self.lease = None;
            if !counted {
                self.attempts.count = self.attempts.count.saturating_sub(1);
            }
        }
        ours
    }

    /// Records that the turn waits for the opening at `opens`, and begins at `at`.
    pub fn schedule_turn(&mut self, opens: Timestamp, at: Timestamp) {
        self.opening.opens_at = Some(opens);
        self.opening.scheduled_for = Some(at);
    }

    /// Returns the time of the turn if it waits for the opening at `opens`, and not for another one.
    pub fn scheduled_turn(&self, opens: Timestamp) -> Option<Timestamp> {
        self.opening
            .scheduled_for
            .filter(|_| self.opening.opens_at == Some(opens))
    }

    /// Commits the reply that was drafted from `draft` and stored at `at`. Returns the reply's ordinal.
    ///
    /// Refused with [`ConversationError::TakenOver`] if people answer now, and with [`ConversationError::Answered`] if
    /// the epoch or `answered` changed since the draft was made.
    pub fn commit_reply(&mut self, draft: &Draft, at: Timestamp) -> Result<Ordinal, ConversationError> {
        self.check_draft(draft)?;
        let ordinal = self.append_message(at);
        self.settle_draft(draft);
        self.limits.replies.count_reply(at);
        Ok(ordinal)
    }

    /// Records that the messages of `draft` are answered, and gives its lease back.
    pub(super) fn settle_draft(&mut self, draft: &Draft) {
        self.answered = self.answered.max(draft.covers);
        if !draft.more_owed {
            // Messages that are still unanswered arrived after the lease was taken.
            let lease = self.lease.as_ref().filter(|lease| lease.nonce == draft.nonce);
            let left_since = lease.and_then(|lease| lease.left_since);
            self.waiting_since = self.owes_answer().then(|| left_since.unwrap_or(draft.since));
        }
        self.count_unread_turn(draft.more_owed);
        self.opening.scheduled_for = None;
        self.release_lease(&draft.nonce, true);
    }
}
