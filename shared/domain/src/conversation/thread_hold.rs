//! The conversation while another program holds its thread: the agent is silent, and has the conversation again afterwards.

use super::{Conversation, ConversationMode};
use crate::ids::TokenName;
use crate::thread_hold::{ThreadControl, ThreadHold, clean_role};
use jiff::Timestamp;

impl Conversation {
    /// Returns the role of the other program that holds the thread at `now`. `None`: the thread is ours or nobody's.
    pub fn thread_holder(&self, now: Timestamp) -> Option<&str> {
        self.features
            .thread_hold
            .as_ref()?
            .holder(self.contact.last_inbound_at, now)
    }

    /// Applies what an event that was written at `told_at` shows about the thread. While another program holds it, people have the
    /// conversation; once it is ours, the agent has it again, if it had it before and no person answered meanwhile. What was written
    /// until then counts as answered by the other program. What is older than what is known changes nothing.
    pub fn apply_thread_control(&mut self, control: &ThreadControl, told_at: Timestamp, now: Timestamp) {
        let known = self.features.thread_hold.as_ref();
        if known.is_some_and(|known| known.at > told_at) {
            return;
        }
        let is_held = known.is_some_and(|known| known.by.is_some());
        match control {
            ThreadControl::Held(role) => {
                let from_agent = known.is_some_and(|known| is_held && known.from_agent)
                    || self.mode == ConversationMode::Ai;
                if self.take_over() {
                    self.sign_handover(&TokenName::other_agent(), now);
                }
                self.features.thread_hold = Some(ThreadHold {
                    by: Some(clean_role(role.as_deref())),
                    at: told_at,
                    from_agent,
                });
            }
            // Nothing is stored of a thread that was always ours.
            ThreadControl::Ours | ThreadControl::PassedToUs if !is_held => {}
            ThreadControl::Ours | ThreadControl::PassedToUs => {
                let from_agent = known.is_some_and(|known| known.from_agent);
                if from_agent
                    && self.people.taken.is_none()
                    && self.give_back_to_agent(self.last_inbound, now)
                {
                    self.sign_handover(&TokenName::other_agent(), now);
                }
                self.features.thread_hold = Some(ThreadHold {
                    by: None,
                    at: told_at,
                    from_agent: false,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;
    use crate::millis::from_unix_millis;

    fn at(second: i64) -> Timestamp {
        from_unix_millis(second * 1_000)
    }

    fn held() -> ThreadControl {
        ThreadControl::Held(Some("ai_agent".to_owned()))
    }

    #[test]
    fn the_agent_is_silent_while_another_holds_the_thread_and_goes_on_after_it() {
        let mut c = conversation();
        let epoch = c.epoch;
        c.apply_thread_control(&held(), at(10), at(10));
        assert_eq!(
            (c.mode, c.thread_holder(at(20))),
            (ConversationMode::Manual, Some("ai_agent"))
        );
        assert!(c.epoch > epoch, "waiting replies are void");
        c.receive_message(false, at(11)).unwrap();
        c.apply_thread_control(&ThreadControl::Ours, at(12), at(12));
        assert_eq!((c.mode, c.thread_holder(at(20))), (ConversationMode::Ai, None));
        assert!(!c.owes_answer(), "the other program answered");
        let read: Conversation = serde_json::from_value(serde_json::to_value(&c).unwrap()).unwrap();
        assert_eq!(read, c);
    }

    #[test]
    fn what_is_older_than_what_is_known_changes_nothing() {
        let mut c = conversation();
        c.apply_thread_control(&held(), at(10), at(10));
        c.apply_thread_control(&ThreadControl::Ours, at(9), at(11));
        assert!(c.thread_holder(at(12)).is_some());
        c.apply_thread_control(&ThreadControl::Ours, at(12), at(12));
        c.apply_thread_control(&held(), at(11), at(13));
        assert_eq!((c.mode, c.thread_holder(at(13))), (ConversationMode::Ai, None));
    }

    #[test]
    fn a_conversation_that_people_have_stays_theirs() {
        let mut before = conversation();
        before.take_over();
        let mut meanwhile = conversation();
        meanwhile.apply_thread_control(&held(), at(1), at(1));
        meanwhile.sign_person(&TokenName::phone(), at(2));
        for mut c in [before, meanwhile] {
            c.apply_thread_control(&held(), at(3), at(3));
            c.apply_thread_control(&ThreadControl::PassedToUs, at(4), at(4));
            assert_eq!(c.mode, ConversationMode::Manual);
        }
    }

    #[test]
    fn after_a_day_without_a_message_nobody_holds_the_thread() {
        let mut c = conversation();
        c.contact.last_inbound_at = None;
        c.apply_thread_control(&held(), at(0), at(0));
        let day = 24 * 3_600;
        assert!(c.thread_holder(at(day - 1)).is_some() && c.thread_holder(at(day)).is_none());
    }

    #[test]
    fn a_thread_that_was_always_ours_stores_nothing() {
        let mut c = conversation();
        c.apply_thread_control(&ThreadControl::Ours, at(1), at(1));
        assert_eq!(c, conversation());
    }
}
