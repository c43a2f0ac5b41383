//! The messages to which the agent said that nothing is to be answered.

use super::{Conversation, ConversationError, ConversationMode, Draft};
use crate::ids::Ordinal;
use serde::{Deserialize, Serialize};

/// Maximum number of spans that a conversation keeps. Spans without a reply between them are one.
const SPANS_MAX: usize = 16;

/// A span of messages to which the agent gave no answer, by its own decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentSpan {
    /// The first ordinal of the span.
    pub from: Ordinal,
    /// The last ordinal of the span.
    pub upto: Ordinal,
}

impl Conversation {
    /// Refuses a draft that may not be committed: people answer now ([`ConversationError::TakenOver`]), or the epoch or
    /// `answered` changed since it was made ([`ConversationError::Answered`]).
    pub(super) fn check_draft(&self, draft: &Draft) -> Result<(), ConversationError> {
        if self.mode != ConversationMode::Ai {
            return Err(ConversationError::TakenOver);
        }
        if self.epoch != draft.epoch || self.answered != draft.answered {
            return Err(ConversationError::Answered);
        }
        Ok(())
    }

    /// Commits that the messages of `draft` get no answer. Refused as [`Self::commit_reply`] is.
    pub fn commit_silence(&mut self, draft: &Draft) -> Result<(), ConversationError> {
        self.check_draft(draft)?;
        let from = self.answered.next_ordinal();
        self.settle_draft(draft);
        match self.silences.last_mut() {
            Some(last) if last.upto.next_ordinal() >= from => last.upto = draft.covers,
            _ => self.silences.push(SilentSpan {
                from,
                upto: draft.covers,
            }),
        }
        let surplus = self.silences.len().saturating_sub(SPANS_MAX);
        self.silences.drain(..surplus);
        Ok(())
    }

    /// Returns `true` if the agent said that the message of this ordinal needs no answer.
    pub fn is_silent_at(&self, ordinal: Ordinal) -> bool {
        let holds = |span: &SilentSpan| (span.from..=span.upto).contains(&ordinal);
        self.silences.iter().any(holds)
    }

    /// Returns the ordinal up to which messages are answered if those up to `answered` are: what the agent left without an
    /// answer right after them stays so. What it left later is owed again, and forgotten.
    pub(super) fn reopen_after(&mut self, answered: Ordinal) -> Ordinal {
        let reached = self.silences.iter().fold(answered, |reached, span| {
            if span.from <= reached.next_ordinal() {
                reached.max(span.upto)
            } else {
                reached
            }
        });
        self.silences.retain(|span| span.upto <= reached);
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{conversation, nonce};
    use super::*;
    use crate::millis::from_unix_millis;

    fn draft(c: &mut Conversation, messages: u64) -> Draft {
        for _ in 0..messages {
            c.receive_message(true, from_unix_millis(1)).unwrap();
        }
        let (now, until) = (from_unix_millis(2), from_unix_millis(9_000));
        let covers = c.turn_upto;
        c.acquire_lease(nonce("n1"), covers, now, until)
    }

    #[test]
    fn nothing_is_owed_for_what_the_agent_left_and_the_next_message_is_owed() {
        let mut c = conversation();
        let first = draft(&mut c, 2);
        c.commit_silence(&first).unwrap();
        assert!(!c.owes_answer() && c.waiting_since.is_none() && c.lease.is_none());
        assert_eq!(c.answered, c.last, "no message of the agent took an ordinal");
        let silent = c.last;
        assert!(c.is_silent_at(silent) && !c.is_silent_at(silent.next_ordinal()));
        let second = draft(&mut c, 1);
        assert!(c.owes_answer());
        c.commit_silence(&second).unwrap();
        assert_eq!(c.silences.len(), 1, "both are one span");
    }

    #[test]
    fn a_draft_that_people_or_another_turn_overtook_says_nothing() {
        let mut c = conversation();
        let old = draft(&mut c, 1);
        c.take_over();
        assert_eq!(c.commit_silence(&old), Err(ConversationError::TakenOver));
        let mut c = conversation();
        let old = draft(&mut c, 1);
        c.commit_silence(&old).unwrap();
        assert_eq!(c.commit_silence(&old), Err(ConversationError::Answered));
    }

    #[test]
    fn a_give_back_asks_no_second_time_for_what_the_agent_left() {
        let mut c = conversation();
        let silent = draft(&mut c, 2);
        c.commit_silence(&silent).unwrap();
        c.take_over();
        c.give_back_to_agent(Ordinal(0), from_unix_millis(5));
        assert!(!c.owes_answer());
        c.take_over();
        c.receive_message(true, from_unix_millis(6)).unwrap();
        c.give_back_to_agent(Ordinal(0), from_unix_millis(7));
        assert!(c.owes_answer(), "what came later is owed");
    }

    #[test]
    fn what_the_agent_left_after_a_withdrawn_reply_is_owed_again_with_it() {
        let mut c = conversation();
        let replied = draft(&mut c, 1);
        let reply = c.commit_reply(&replied, from_unix_millis(3)).unwrap();
        let silent = draft(&mut c, 1);
        c.commit_silence(&silent).unwrap();
        assert!(c.reopen_unanswered(Ordinal(0), from_unix_millis(4)));
        assert_eq!(c.answered, Ordinal(0));
        assert!(!c.is_silent_at(reply.next_ordinal()));
        let again = draft(&mut c, 0);
        c.commit_silence(&again).unwrap();
        assert!(
            !c.reopen_unanswered(Ordinal(0), from_unix_millis(5)),
            "all of it is silence"
        );
        assert!(c.is_silent_at(Ordinal(1)));
    }

    #[test]
    fn the_newest_spans_are_kept() {
        let mut c = conversation();
        for _ in 0..SPANS_MAX + 3 {
            let silent = draft(&mut c, 1);
            c.commit_silence(&silent).unwrap();
            let replied = draft(&mut c, 1);
            c.commit_reply(&replied, from_unix_millis(3)).unwrap();
        }
        assert_eq!(c.silences.len(), SPANS_MAX);
        assert!(!c.is_silent_at(Ordinal(1)));
        assert!(c.silences.last().unwrap().upto < c.answered);
    }
}
