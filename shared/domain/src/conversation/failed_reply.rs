//! Contacts who got the agent's error message, because the model failed. They wait until the agent or a person answers them.

use super::{Conversation, Draft, TurnAttempts};
use crate::ids::Ordinal;
use crate::millis;
use crate::reason::Reason;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The first error message since the agent's last reply, or since a person acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedReply {
    /// Time at which it was committed.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// The ordinal up to which messages were answered before it.
    pub answered: Ordinal,
}

impl Conversation {
    /// Notes whether the reply of `draft`, just committed at `at`, is the agent's error message: the model `failed`.
    /// If nothing else is owed, the contact then waits for a person. The agent answers the contact's next message again.
    pub fn note_reply_outcome(&mut self, draft: &Draft, failed: bool, at: Timestamp) {
        if !failed {
            self.failed_reply = None;
            return;
        }
        let answered = draft.answered;
        self.failed_reply.get_or_insert(FailedReply { at, answered });
        if !self.owes_answer() && self.needs_person.is_none() {
            self.needs_person = Some(Reason::ModelFailed);
        }
    }

    /// Returns the time since which the contact waits for a person because it got the agent's error message.
    pub(super) fn failed_since(&self) -> Option<Timestamp> {
        let failed = self.failed_reply.as_ref()?;
        (self.needs_person == Some(Reason::ModelFailed)).then_some(failed.at)
    }

    /// Lets the agent answer after an error message: it may be able to now. The error message is remembered until it is.
    pub(super) fn end_failed_wait(&mut self) {
        if self.needs_person == Some(Reason::ModelFailed) {
            self.needs_person = None;
        }
    }

    /// Makes what got the error message owed by the agent again.
    pub(super) fn reopen_failed(&mut self, failed: FailedReply) {
        self.answered = self
            .reopen_after(self.human.max(failed.answered))
            .min(self.answered);
        self.attempts = TurnAttempts::default();
        self.waiting_since = self.owes_answer().then_some(failed.at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{conversation, nonce};
    use super::*;
    use crate::millis::from_unix_millis;

    fn second(second: i64) -> Timestamp {
        from_unix_millis(second * 1_000)
    }

    /// The contact writes, and the agent's reply is committed.
    fn answer(c: &mut Conversation, failed: bool, at: i64) -> Ordinal {
        let asked = c.receive_message(true, second(at)).unwrap();
        assert!(c.agent_owes_answer(), "the agent tries each message");
        let draft = c.acquire_lease(nonce("n"), asked, second(at), second(at + 95));
        c.commit_reply(&draft, second(at + 1)).unwrap();
        c.note_reply_outcome(&draft, failed, second(at + 1));
        asked
    }

    #[test]
    fn who_got_an_error_message_waits_until_the_model_answers() {
        let mut c = conversation();
        answer(&mut c, false, 0);
        assert_eq!(c.person_owed_since(), None);
        let asked = answer(&mut c, true, 10);
        assert_eq!(c.person_owed_since(), Some(second(11)));
        assert!(!c.agent_owes_answer(), "the agent says no more by itself");
        answer(&mut c, true, 20);
        assert_eq!(c.person_owed_since(), Some(second(11)), "one wait");
        let mut given_back = c.clone();
        assert!(given_back.give_back_to_agent(given_back.last, second(30)));
        assert!(given_back.agent_owes_answer());
        assert!(given_back.answered < asked, "both messages are answered");
        answer(&mut c, false, 30);
        assert_eq!((c.person_owed_since(), c.failed_reply), (None, None));
    }

    #[test]
    fn a_person_who_acts_ends_the_wait() {
        let mut c = conversation();
        answer(&mut c, true, 10);
        let mut resolved = c.clone();
        assert!(resolved.resolve_if_seen(resolved.last).unwrap());
        let mut taken = c.clone();
        assert!(taken.take_over());
        c.record_operator_answer(c.last, false, second(20));
        for ended in [resolved, taken, c] {
            assert_eq!((ended.person_owed_since(), ended.failed_reply), (None, None));
        }
    }
}
