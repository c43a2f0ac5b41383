//! What people looked at while the contact waits for one of them. Who it was is not kept.

use super::Conversation;
use crate::ids::Ordinal;

impl Conversation {
    /// Returns `true` if a person is waited for and no person looked at the newest message.
    pub fn is_unseen(&self) -> bool {
        self.person_owed_since().is_some() && self.last > self.seen.max(self.human)
    }

    /// Records that a person looked at the messages up to `upto`. Returns `false` if nothing changed: nobody is waited for, or
    /// that much was looked at before.
    pub fn record_seen(&mut self, upto: Ordinal) -> bool {
        let upto = upto.min(self.last);
        let is_news = self.is_unseen() && upto > self.seen.max(self.human);
        if is_news {
            self.seen = upto;
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;
    use crate::millis::from_unix_millis;

    fn write(c: &mut Conversation, at: i64) {
        c.receive_message(true, from_unix_millis(at)).unwrap();
    }

    #[test]
    fn what_waits_for_a_person_is_unseen_until_one_looks_and_again_after_the_next_message() {
        let mut c = conversation();
        write(&mut c, 1);
        assert!(!c.is_unseen() && !c.record_seen(Ordinal(1)), "the agent answers");
        c.take_over();
        assert!(c.is_unseen());
        write(&mut c, 2);
        assert!(
            c.record_seen(Ordinal(1)) && c.is_unseen(),
            "the newest is not looked at"
        );
        assert!(c.record_seen(Ordinal(9)) && !c.is_unseen());
        assert_eq!(c.seen, Ordinal(2), "nobody looks at what is not there");
        assert!(!c.record_seen(Ordinal(2)), "a second look changes nothing");
        write(&mut c, 3);
        assert!(c.is_unseen());
    }

    #[test]
    fn whoever_answers_has_looked() {
        let mut c = conversation();
        write(&mut c, 1);
        c.take_over();
        c.record_operator_answer(Ordinal(1), true, from_unix_millis(2));
        assert!(!c.is_unseen());
        write(&mut c, 3);
        assert!(c.is_unseen());
    }
}
