//! Turns in a row in which the model gave no reply. If they are of several conversations, the fault is with the model.

use super::InstanceState;
use crate::ids::ConversationId;
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Number of failed turns in a row from which the model counts as failing. Each is of another conversation than the one before.
pub const MODEL_FAILURES_MAX: u32 = 2;

/// The newest turns of an instance in which the model failed, with no reply of it between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailures {
    /// Time of the first.
    #[serde(with = "millis")]
    pub since: Timestamp,
    /// Number of turns.
    pub count: u32,
    /// The conversation of the last. Its further turns do not count: the fault may be with it alone.
    pub conversation: ConversationId,
}

impl InstanceState {
    /// Counts a turn in which the model failed. Returns `true` if the model counts as failing from now on.
    pub(super) fn count_model_failure(&mut self, conversation: &ConversationId, at: Timestamp) -> bool {
        let run = self.model_failures.get_or_insert_with(|| ModelFailures {
            since: at,
            count: 1,
            conversation: conversation.clone(),
        });
        if run.conversation == *conversation {
            return false;
        }
        run.conversation = conversation.clone();
        run.count = run.count.saturating_add(1);
        run.count == MODEL_FAILURES_MAX
    }

    /// Returns the turns in which the model failed, if there are so many that the fault is with it.
    pub fn failing_model(&self) -> Option<&ModelFailures> {
        self.model_failures
            .as_ref()
            .filter(|run| run.count >= MODEL_FAILURES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ThreadId;
    use crate::instance::InstanceChange;
    use crate::millis::from_unix_millis;

    #[test]
    fn a_model_that_fails_in_two_conversations_in_a_row_is_failing_until_it_answers() {
        let fails = |thread: &str, at| InstanceChange::ModelFailed {
            conversation: ConversationId::new(ThreadId::parse(&thread.repeat(32)).unwrap(), 1),
            at: from_unix_millis(at),
        };
        let mut state = InstanceState::default();
        assert!(!state.apply_change(&fails("a", 1)));
        assert!(!state.apply_change(&fails("a", 2)), "the same conversation");
        assert_eq!((state.failing_model(), state.index_time()), (None, None));
        assert!(state.apply_change(&fails("b", 3)));
        assert_eq!(
            state.failing_model().map(|run| run.since),
            Some(from_unix_millis(1))
        );
        assert!(state.index_time().is_some(), "alerts find it");
        assert!(!state.apply_change(&fails("a", 4)), "it is known");
        assert!(state.apply_change(&InstanceChange::ModelAnswered));
        assert_eq!((state.failing_model(), state.index_time()), (None, None));
    }
}
