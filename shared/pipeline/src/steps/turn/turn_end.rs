//! The ends of a turn: the reasons for which a step ends it, and what happens then.

use crate::steps::verdict::Verdict;
use jiff::{SignedDuration, Timestamp};
use recado_domain::conversation::ConversationError;
use recado_domain::millis::add_duration;
use recado_ports::ports::PortError;

/// Longest time until a turn whose lease another worker holds is checked again.
const LEASE_RECHECK: SignedDuration = SignedDuration::from_secs(3);

/// The end of a turn. The records tell the same later; the log says which step ended the turn, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// The reply is committed, and its jobs are enqueued.
    Committed,
    /// The conversation does not exist.
    NoConversation,
    /// Newer messages came, which have turn jobs of their own.
    NewerMessage,
    /// Everything is answered, people answer, the rest waits for a person, or the conversation is resolved.
    NothingOwed,
    /// Another worker drafts the reply until this time at the latest.
    LeaseHeld {
        /// End of the lease.
        until: Timestamp,
    },
    /// The contact types: the turn waits for what comes.
    ContactTypes {
        /// Time at which it is looked again.
        until: Timestamp,
    },
    /// An effect of an agent's tool is under way: the turn waits for its end.
    EffectUnderWay {
        /// Time at which it is looked again.
        until: Timestamp,
    },
    /// The tenant's other turns have all places of those that run at once.
    WaitsForPlace {
        /// Time at which it is looked again.
        until: Timestamp,
    },
    /// The instance is not configured or disabled.
    NoInstance,
    /// The job came before the time of its turn.
    TooEarly {
        /// Time of the turn.
        at: Timestamp,
    },
    /// The business is closed: the turn waits.
    Closed {
        /// Time of the turn: the opening, or later if others wait for it, too.
        opens: Timestamp,
    },
    /// The business never opens: the turn waits for people.
    NeverOpens,
    /// A limit of the agent is reached: what is owed waits for a person.
    Paused,
    /// Messages that are owed an answer were not found.
    MessagesMissing,
    /// The model's key is missing: the turn waits for it.
    ModelKeyMissing,
    /// Too little time is left to ask the model: the job comes back.
    NoTimeLeft,
    /// The conversation was answered, taken over or resolved while the reply was drafted.
    Discarded(ConversationError),
    /// The contact wrote while the reply was drafted: the draft is dropped, and a turn begins anew.
    DraftDropped,
    /// An effect began or ended that the draft does not know: a turn begins anew.
    JournalChanged,
    /// Another worker wrote the conversation while this one read or wrote it.
    ChangedMeanwhile,
}

/// The work after the end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterTurn {
    /// Nothing: the verdict on the job is known.
    Decided(Verdict),
    /// A send job for open messages is enqueued, so that a reply is sent that a crash left without one.
    SendOpenMessages,
}

impl TurnEnd {
    /// Returns the word that the log uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::NoConversation => "no_conversation",
            Self::NewerMessage => "newer_message",
            Self::NothingOwed => "nothing_owed",
            Self::LeaseHeld { .. } => "lease_held",
            Self::ContactTypes { .. } => "contact_types",
            Self::EffectUnderWay { .. } => "effect_under_way",
            Self::WaitsForPlace { .. } => "waits_for_place",
            Self::NoInstance => "no_instance",
            Self::TooEarly { .. } => "too_early",
            Self::Closed { .. } => "closed",
            Self::NeverOpens => "never_opens",
            Self::Paused => "paused",
            Self::MessagesMissing => "messages_missing",
            Self::ModelKeyMissing => "model_key_missing",
            Self::NoTimeLeft => "no_time_left",
            Self::Discarded(_) => "discarded",
            Self::DraftDropped => "draft_dropped",
            Self::JournalChanged => "journal_changed",
            Self::ChangedMeanwhile => "changed_meanwhile",
        }
    }

    /// Returns the work that follows from the end.
    pub fn after_turn(self, now: Timestamp) -> AfterTurn {
        match self {
            Self::Committed | Self::NoConversation | Self::NewerMessage => AfterTurn::Decided(Verdict::Done),
            // The other worker usually finishes long before its lease ends. Messages that came meanwhile are then owed
            // at once.
            Self::LeaseHeld { until } => {
                let at = until.min(add_duration(now, LEASE_RECHECK));
                AfterTurn::Decided(Verdict::retry_at(at, now))
            }
            Self::TooEarly { at }
            | Self::ContactTypes { until: at }
            | Self::EffectUnderWay { until: at }
            | Self::WaitsForPlace { until: at } => AfterTurn::Decided(Verdict::retry_at(at, now)),
            // After a dropped draft: the newer message's job begins the next turn, or this one if that has waited too long.
            Self::MessagesMissing
            | Self::NoTimeLeft
            | Self::Discarded(_)
            | Self::DraftDropped
            | Self::JournalChanged
            | Self::ChangedMeanwhile => AfterTurn::Decided(Verdict::RETRY_SOON),
            Self::NothingOwed
            | Self::NoInstance
            | Self::Closed { .. }
            | Self::NeverOpens
            | Self::Paused
            | Self::ModelKeyMissing => AfterTurn::SendOpenMessages,
        }
    }

    /// Writes the line of the log that tells the end.
    pub fn log_end(self) {
        let end = self.as_str();
        match self {
            Self::Committed
            | Self::NewerMessage
            | Self::NothingOwed
            | Self::LeaseHeld { .. }
            | Self::ContactTypes { .. }
            | Self::TooEarly { .. }
            | Self::EffectUnderWay { .. }
            | Self::WaitsForPlace { .. }
            | Self::JournalChanged
            | Self::ChangedMeanwhile => {
                tracing::debug!(end, "turn ended");
            }
            Self::NoInstance
            | Self::NeverOpens
            | Self::Paused
            | Self::ModelKeyMissing
            | Self::DraftDropped => {
                tracing::info!(end, "turn ended");
            }
            Self::Closed { opens } => tracing::info!(end, %opens, "turn ended"),
            Self::Discarded(refused) => tracing::info!(reason = %refused, "draft discarded"),
            Self::NoTimeLeft => tracing::warn!(end, "turn without time for the model"),
            Self::NoConversation => tracing::warn!(end, "turn of a conversation that does not exist"),
            Self::MessagesMissing => {
                tracing::error!(end, "messages that are owed an answer were not found");
            }
        }
    }
}

/// The reason why a step does not let the turn go on.
#[derive(Debug)]
pub enum TurnStop {
    /// The turn ends here.
    Ended(TurnEnd),
    /// A store or a queue failed: the job comes back.
    Failed(PortError),
}

impl From<TurnEnd> for TurnStop {
    fn from(end: TurnEnd) -> Self {
        Self::Ended(end)
    }
}

impl From<PortError> for TurnStop {
    fn from(error: PortError) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    #[test]
    fn a_job_that_meets_anothers_lease_comes_back_after_three_seconds_or_at_its_end() {
        let now = from_unix_millis(10_000);
        for (until, seconds) in [(90_000, 3), (11_000, 1), (9_000, 0)] {
            let until = from_unix_millis(until);
            let after = SignedDuration::from_secs(seconds);
            assert_eq!(
                TurnEnd::LeaseHeld { until }.after_turn(now),
                AfterTurn::Decided(Verdict::Retry { after })
            );
        }
    }

    #[test]
    fn a_turn_that_waits_or_owes_nothing_looks_for_open_messages_and_a_changed_one_comes_back() {
        let now = from_unix_millis(0);
        for end in [
            TurnEnd::NothingOwed,
            TurnEnd::NoInstance,
            TurnEnd::Closed { opens: now },
            TurnEnd::NeverOpens,
            TurnEnd::Paused,
            TurnEnd::ModelKeyMissing,
        ] {
            assert_eq!(
                end.after_turn(now),
                AfterTurn::SendOpenMessages,
                "{}",
                end.as_str()
            );
        }
        for end in [
            TurnEnd::MessagesMissing,
            TurnEnd::NoTimeLeft,
            TurnEnd::Discarded(ConversationError::TakenOver),
            TurnEnd::DraftDropped,
            TurnEnd::JournalChanged,
            TurnEnd::ChangedMeanwhile,
        ] {
            let decided = AfterTurn::Decided(Verdict::RETRY_SOON);
            assert_eq!(end.after_turn(now), decided, "{}", end.as_str());
        }
    }
}
