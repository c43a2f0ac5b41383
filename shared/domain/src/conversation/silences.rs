//! The messages of turns in which nothing was to be answered.

use super::{Conversation, ConversationError, ConversationMode, Draft};
use crate::ids::Ordinal;
use crate::reason::Reason;
use serde::{Deserialize, Serialize};

/// Maximum number of spans that a conversation keeps. Spans of one reason without a reply between them are one.
const SPANS_MAX: usize = 16;

/// A span of messages that have no answer, because a turn found nothing to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentSpan {
    /// The first ordinal of the span.
    pub from: Ordinal,
    /// The last ordinal of the span.
    pub upto: Ordinal,
    /// The reason why nothing was to be answered.
    pub reason: Reason,
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

    /// Commits that the messages of `draft` get no answer, for this reason. Refused as [`Self::commit_reply`] is.
    pub fn commit_silence(&mut self, draft: &Draft, reason: Reason) -> Result<(), ConversationError> {
        self.check_draft(draft)?;
        let from = self.answered.next_ordinal();
        self.settle_draft(draft);
        match self.silences.last_mut() {
            Some(last) if last.reason == reason && last.upto.next_ordinal() >= from => {
                last.upto = draft.covers;
            }
            _ => self.silences.push(SilentSpan {
                from,
                upto: draft.covers,
                reason,
            }),
        }
        let surplus = self.silences.len().saturating_sub(SPANS_MAX);
        self.silences.drain(..surplus);
        Ok(())
    }

    /// Returns the reason why a turn found nothing to answer in the message of this ordinal. `None`: no turn did.
    pub fn find_silence_reason(&self, ordinal: Ordinal) -> Option<Reason> {
        let holds = |span: &&SilentSpan| (span.from..=span.upto).contains(&ordinal);
        self.silences.iter().find(holds).map(|span| span.reason)
    }

    /// Returns the ordinal up to which messages are answered if those up to `answered` are: what was left without an
    /// answer right after them stays so. What was left later is owed again, and forgotten.
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

    const SILENT: Reason = Reason::AgentSilent;

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
        c.commit_silence(&first, SILENT).unwrap();
        assert!(!c.owes_answer() && c.waiting_since.is_none() && c.lease.is_none());
        assert_eq!(c.answered, c.last, "no message of the agent took an ordinal");
        let silent = c.last;
        assert_eq!(c.find_silence_reason(silent), Some(SILENT));
        assert_eq!(c.find_silence_reason(silent.next_ordinal()), None);
        let second = draft(&mut c, 1);
        assert!(c.owes_answer());
        c.commit_silence(&second, SILENT).unwrap();
        assert_eq!(c.silences.len(), 1, "both are one span");
    }

    #[test]
    fn each_message_keeps_its_own_reason_and_all_of_them_hold_after_a_give_back() {
        let mut c = conversation();
        for reason in [SILENT, Reason::SpellingCorrection] {
            let silent = draft(&mut c, 1);
            c.commit_silence(&silent, reason).unwrap();
            assert_eq!(c.find_silence_reason(c.last), Some(reason));
        }
        assert_eq!(c.find_silence_reason(Ordinal(1)), Some(SILENT));
        c.take_over();
        c.give_back_to_agent(Ordinal(0), from_unix_millis(5));
        assert!(!c.owes_answer());
    }

    #[test]
    fn a_draft_that_people_or_another_turn_overtook_says_nothing() {
        let mut c = conversation();
        let old = draft(&mut c, 1);
        c.take_over();
        assert_eq!(c.commit_silence(&old, SILENT), Err(ConversationError::TakenOver));
        let mut c = conversation();
        let old = draft(&mut c, 1);
        c.commit_silence(&old, SILENT).unwrap();
        assert_eq!(c.commit_silence(&old, SILENT), Err(ConversationError::Answered));
    }

    #[test]
    fn a_give_back_asks_no_second_time_for_what_the_agent_left() {
        let mut c = conversation();
        let silent = draft(&mut c, 2);
        c.commit_silence(&silent, SILENT).unwrap();
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
        c.commit_silence(&silent, SILENT).unwrap();
        assert!(c.reopen_unanswered(Ordinal(0), from_unix_millis(4)));
        assert_eq!(c.answered, Ordinal(0));
        assert_eq!(c.find_silence_reason(reply.next_ordinal()), None);
        let again = draft(&mut c, 0);
        c.commit_silence(&again, SILENT).unwrap();
        assert!(
            !c.reopen_unanswered(Ordinal(0), from_unix_millis(5)),
            "all of it is silence"
        );
        assert_eq!(c.find_silence_reason(Ordinal(1)), Some(SILENT));
    }

    #[test]
    fn the_newest_spans_are_kept() {
        let mut c = conversation();
        for _ in 0..SPANS_MAX + 3 {
            let silent = draft(&mut c, 1);
            c.commit_silence(&silent, SILENT).unwrap();
            let replied = draft(&mut c, 1);
            c.commit_reply(&replied, from_unix_millis(3)).unwrap();
        }
        assert_eq!(c.silences.len(), SPANS_MAX);
        assert_eq!(c.find_silence_reason(Ordinal(1)), None);
        assert!(c.silences.last().unwrap().upto < c.answered);
    }
}
