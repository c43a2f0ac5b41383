//! Drafts that are dropped because the contact wrote while they were made. The next draft reads that message, too.

use super::{Conversation, Draft};
use crate::ids::Ordinal;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The drafts that were dropped since the last answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedDrafts {
    /// The ordinal up to which the conversation was answered then.
    pub answered: Ordinal,
    /// Number of drafts.
    pub count: u32,
}

impl Conversation {
    /// Returns `true` if the contact wrote on before `until` while `draft` was made.
    pub fn is_continued_before(&self, draft: &Draft, until: Timestamp) -> bool {
        let lease = self.lease.as_ref().filter(|lease| lease.nonce == draft.nonce);
        let wrote_on = lease.and_then(|lease| lease.left_since);
        wrote_on.is_some_and(|at| at < until)
    }

    /// Drops `draft` if the contact wrote a message that wants an answer while it was made: gives its lease back, without
    /// counting the attempt, and returns `true`. At most `limit` drafts in a row are dropped, so that somebody who writes
    /// on and on is answered in the end. A draft that could not read all that was owed is never dropped: the next one
    /// would read the same.
    pub fn drop_outdated_draft(&mut self, draft: &Draft, limit: u32) -> bool {
        let outdated = !draft.more_owed && self.turn_upto > draft.covers && self.agent_owes_answer();
        let current = self.epoch == draft.epoch && self.answered == draft.answered;
        let before = Some(self.dropped_drafts).filter(|before| before.answered == self.answered);
        let count = before.map_or(0, |before| before.count);
        if !outdated || !current || count >= limit || !self.release_lease(&draft.nonce, false) {
            return false;
        }
        self.dropped_drafts = DroppedDrafts {
            answered: self.answered,
            count: count + 1,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{conversation, nonce};
    use super::*;
    use crate::millis::from_unix_millis;

    fn at(seconds: i64) -> Timestamp {
        from_unix_millis(seconds * 1_000)
    }

    /// The contact writes, and a turn that reads up to `covers` takes its lease.
    fn drafts(c: &mut Conversation, seconds: i64, covers: u64) -> Draft {
        c.acquire_lease(nonce("n1"), Ordinal(covers), at(seconds), at(seconds + 95))
    }

    fn writes(c: &mut Conversation, seconds: i64) -> Ordinal {
        c.receive_message(true, at(seconds)).unwrap()
    }

    #[test]
    fn a_draft_is_dropped_for_a_newer_message_and_so_often_in_a_row_only() {
        let mut c = conversation();
        let mut upto = writes(&mut c, 0);
        for number in 1..=3 {
            let draft = drafts(&mut c, number * 10, upto.0);
            assert_eq!(draft.attempt, 1, "a dropped draft is no failed attempt");
            assert!(
                !c.clone().drop_outdated_draft(&draft, 2),
                "nothing came meanwhile"
            );
            upto = writes(&mut c, number * 10 + 1);
            let dropped = c.drop_outdated_draft(&draft, 2);
            assert_eq!((dropped, c.lease.is_none()), (number < 3, number < 3));
            if !dropped {
                c.commit_reply(&draft, at(31)).unwrap();
            }
        }
        // After an answer it is counted anew.
        assert_eq!(c.waiting_since, Some(at(31)));
        let draft = drafts(&mut c, 40, upto.0);
        writes(&mut c, 41);
        assert!(c.drop_outdated_draft(&draft, 2));
    }

    #[test]
    fn only_what_came_during_the_draft_and_before_the_time_continues_what_it_answers() {
        let mut c = conversation();
        let upto = writes(&mut c, 0);
        let draft = drafts(&mut c, 1, upto.0);
        assert!(!c.is_continued_before(&draft, at(9)), "nothing came");
        writes(&mut c, 2);
        writes(&mut c, 4);
        for (second, continued) in [(2, false), (3, true), (9, true)] {
            assert_eq!(c.is_continued_before(&draft, at(second)), continued, "{second}");
        }
        c.lease.as_mut().unwrap().nonce = nonce("n2");
        assert!(
            !c.is_continued_before(&draft, at(9)),
            "the lease is another worker's"
        );
    }

    #[test]
    fn a_draft_is_kept_where_the_next_could_read_no_more_or_is_not_to_be_made() {
        let mut c = conversation();
        writes(&mut c, 0);
        let rest = writes(&mut c, 1);
        let partial = drafts(&mut c, 2, rest.0 - 1);
        writes(&mut c, 3);
        assert!(
            !c.clone().drop_outdated_draft(&partial, 2),
            "more was owed than it reads"
        );
        let mut c = conversation();
        let upto = writes(&mut c, 0);
        let draft = drafts(&mut c, 1, upto.0);
        writes(&mut c, 2);
        assert!(
            !c.clone().drop_outdated_draft(&draft, 0),
            "no draft is dropped unless it is set"
        );
        let mut taken = c.clone();
        taken.take_over();
        assert!(
            !taken.drop_outdated_draft(&draft, 2),
            "people have the conversation"
        );
        c.lease.as_mut().unwrap().nonce = nonce("n2");
        assert!(!c.drop_outdated_draft(&draft, 2), "the lease is another worker's");
    }
}
