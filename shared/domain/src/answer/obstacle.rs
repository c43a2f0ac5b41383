//! The obstacles of answers that do not follow from the records of their conversation.

use super::{AnswerReason, ExplainedAnswer};
use crate::config::InstanceConfig;
use crate::effects::Journal;
use crate::ids::ConversationId;
use crate::instance::{ConnectionStatus, InstanceState};
use crate::turn_places::TurnPlaces;
use jiff::Timestamp;

/// The reason why a turn does not begin after the debounce, or why a ready reply does not leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Obstacle {
    reason: AnswerReason,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Obstacle {
    /// Finds what holds up the messages that are ready to leave through an instance. `bound` is its configuration; `None` if
    /// it has none.
    pub fn find_of_sends(bound: Option<&InstanceConfig>, state: &InstanceState) -> Option<Self> {
        let reason = match state.connection {
            _ if !bound.is_some_and(InstanceConfig::is_enabled) => {
                return Some(Self {
                    reason: AnswerReason::NoInstance,
                    since: None,
                    until: None,
                });
            }
            ConnectionStatus::Open => return None,
            ConnectionStatus::Closed => AnswerReason::InstanceClosed,
            ConnectionStatus::Unreachable => AnswerReason::InstanceUnreachable,
            ConnectionStatus::NeedsCredentials => AnswerReason::InstanceKey,
        };
        Some(Self {
            reason,
            since: state.disconnected_since(),
            until: None,
        })
    }

    /// Finds the effect that a turn waits for, if one is under way.
    pub fn find_effect(journal: &Journal, now: Timestamp) -> Option<Self> {
        let running = journal.running_entry()?;
        Some(Self {
            reason: AnswerReason::EffectUnderWay,
            since: Some(running.begun_at),
            // Later it is found out how it ended, which takes as long as it takes.
            until: Some(running.until).filter(|until| *until > now),
        })
    }

    /// Finds whether the turn of `conversation` waits for a place among the tenant's turns.
    pub fn find_place(places: &TurnPlaces, conversation: &ConversationId, now: Timestamp) -> Option<Self> {
        places.has_waiting_turn(conversation, now).then_some(Self {
            reason: AnswerReason::TurnPlace,
            since: None,
            until: None,
        })
    }

    /// Explains an answer that this holds up. It is not held up since before it was ready.
    pub(super) fn explain_held(self, ready: ExplainedAnswer) -> ExplainedAnswer {
        ExplainedAnswer {
            reason: self.reason,
            since: self.since.max(ready.since),
            until: self.until,
            ..ready
        }
    }
}
