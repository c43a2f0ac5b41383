//! The return of the agent to a conversation that people took over, as the instance's setting says.

use super::{Conversation, ConversationMode, ConversationStatus};
use crate::config::AgentReturn;
use crate::millis::{add_duration, round_up_to_minute};
use jiff::{SignedDuration, Timestamp};

/// Time after which a return that did not happen is overdue, and pause between two requests for it.
const OVERDUE_AFTER: SignedDuration = SignedDuration::from_mins(2);

impl Conversation {
    /// Sets the time at which the agent comes back, after a person took the conversation over or wrote at `at`. A message
    /// that comes late does not bring the agent back earlier. Returns `true` if there was no such time before, so that its
    /// timer is to be started.
    ///
    /// A conversation that the agent never had has no such time.
    pub fn restart_return(&mut self, returns: AgentReturn, at: Timestamp) -> bool {
        let was_agents = self.epoch > 0;
        let goes_on = self.status == ConversationStatus::Active && self.mode == ConversationMode::Manual;
        let AgentReturn::AfterMinutes(minutes) = returns else {
            self.agent_returns_at = None;
            return false;
        };
        if !goes_on || !was_agents {
            return false;
        }
        let at = round_up_to_minute(add_duration(at, SignedDuration::from_mins(i64::from(minutes))));
        let before = self.agent_returns_at.replace(at);
        self.agent_returns_at = self.agent_returns_at.max(before);
        before.is_none()
    }

    /// Returns the time at which the agent comes back by itself. `None`: people do not have the conversation, or it does not
    /// come back so.
    pub fn return_due_at(&self) -> Option<Timestamp> {
        let by_people = self.mode == ConversationMode::Manual && self.status == ConversationStatus::Active;
        self.agent_returns_at.filter(|_| by_people)
    }

    /// Returns the latest time of a return that is overdue at `now`, if nobody asked for it since.
    pub fn latest_overdue_return(now: Timestamp) -> Timestamp {
        add_duration(now, -OVERDUE_AFTER)
    }

    /// Returns the time at which the agent's return is overdue.
    pub(super) fn return_overdue_at(&self) -> Option<Timestamp> {
        let due = self.return_due_at()?;
        let asked = self.nudges.nudged_at.filter(|nudged| *nudged >= due);
        Some(add_duration(asked.unwrap_or(due), OVERDUE_AFTER))
    }

    /// Begins this conversation as people's, if people had `resolved`, the one before, and the agent never comes back by
    /// itself.
    pub(super) fn keep_with_people(&mut self, resolved: &Self, returns: AgentReturn) {
        let kept = returns == AgentReturn::Never && resolved.mode == ConversationMode::Manual;
        if kept && resolved.erased_at.is_none() {
            self.mode = ConversationMode::Manual;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;
    use crate::ids::Ordinal;
    use crate::millis::from_unix_millis;

    const MINUTE: i64 = 60_000;
    const HALF_AN_HOUR: AgentReturn = AgentReturn::AfterMinutes(30);

    fn minutes(count: i64) -> Timestamp {
        from_unix_millis(count * MINUTE)
    }

    #[test]
    fn the_agent_comes_back_so_long_after_the_last_word_of_a_person() {
        let mut c = conversation();
        assert!(
            !c.restart_return(HALF_AN_HOUR, from_unix_millis(0)),
            "the agent has it"
        );
        c.take_over();
        assert!(
            c.restart_return(HALF_AN_HOUR, from_unix_millis(1)),
            "a timer is needed"
        );
        assert_eq!(c.return_due_at(), Some(minutes(31)), "to the full minute");
        assert!(
            !c.restart_return(HALF_AN_HOUR, from_unix_millis(5 * MINUTE)),
            "it runs"
        );
        assert!(!c.restart_return(HALF_AN_HOUR, from_unix_millis(0)));
        assert_eq!(
            c.return_due_at(),
            Some(minutes(35)),
            "an old message brings nobody back earlier"
        );
        assert_eq!(c.answer_overdue_at(), Some(minutes(37)));
        c.record_nudge(false, from_unix_millis(37 * MINUTE));
        assert_eq!(c.answer_overdue_at(), Some(minutes(39)));
        assert!(c.give_back_to_agent(Ordinal(0), from_unix_millis(35 * MINUTE)));
        assert_eq!((c.return_due_at(), c.answer_overdue_at()), (None, None));
    }

    #[test]
    fn a_setting_that_was_changed_holds_from_the_next_word_on() {
        let mut c = conversation();
        c.take_over();
        c.restart_return(HALF_AN_HOUR, from_unix_millis(0));
        for returns in [AgentReturn::Never, AgentReturn::AtResolve] {
            let mut changed = c.clone();
            assert!(!changed.restart_return(returns, from_unix_millis(MINUTE)));
            assert_eq!(changed.return_due_at(), None);
        }
    }

    #[test]
    fn what_people_began_stays_theirs_and_a_resolve_ends_the_wait() {
        let mut c = conversation();
        c.mode = ConversationMode::Manual;
        assert!(!c.restart_return(HALF_AN_HOUR, from_unix_millis(0)));
        assert_eq!(c.return_due_at(), None);
        let mut c = conversation();
        c.take_over();
        c.restart_return(HALF_AN_HOUR, from_unix_millis(0));
        c.resolve_if_seen(Ordinal(0)).unwrap();
        assert_eq!(
            (c.return_due_at(), c.agent_returns_at, c.answer_overdue_at()),
            (None, None, None)
        );
        assert!(!c.restart_return(HALF_AN_HOUR, from_unix_millis(0)));
    }

    #[test]
    fn the_next_conversation_is_peoples_only_if_the_agent_never_comes_back() {
        let mut resolved = conversation();
        for (mode, returns, expected) in [
            (
                ConversationMode::Manual,
                AgentReturn::Never,
                ConversationMode::Manual,
            ),
            (ConversationMode::Ai, AgentReturn::Never, ConversationMode::Ai),
            (
                ConversationMode::Manual,
                AgentReturn::AtResolve,
                ConversationMode::Ai,
            ),
            (ConversationMode::Manual, HALF_AN_HOUR, ConversationMode::Ai),
        ] {
            resolved.mode = mode;
            let mut next = conversation();
            next.keep_with_people(&resolved, returns);
            assert_eq!(next.mode, expected, "{returns:?}");
        }
        resolved.begin_erasure(from_unix_millis(1));
        let mut next = conversation();
        next.keep_with_people(&resolved, AgentReturn::Never);
        assert_eq!(
            next.mode,
            ConversationMode::Ai,
            "nothing of an erased contact is kept"
        );
    }
}
