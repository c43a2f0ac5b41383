//! The erasure of a contact. The newest conversation of a thread becomes a tombstone: it says that the contact was erased
//! and when, and lets the next conversation get the next number.

use super::{
    ContactFacts, Conversation, ConversationStatus, FeatureNotes, LinkedConversations, PeopleNotes,
    UsedLimits,
};
use crate::contact::ContactAddress;
use crate::ids::Ordinal;
use jiff::Timestamp;

impl Conversation {
    /// Begins the erasure: no reply is committed or claimed any more, and the contact's next message begins another
    /// conversation. What leads to the contact's other conversations stays until [`Self::finish_erasure`].
    pub fn begin_erasure(&mut self, now: Timestamp) {
        self.erased_at = Some(now);
        self.status = ConversationStatus::Resolved;
        self.epoch += 1;
        self.answered = self.answered.max(self.turn_upto);
        self.lease = None;
        self.end_turns();
    }

    /// Removes what is left of the contact from the tombstone. Only the opt-out of marketing stays.
    pub fn finish_erasure(&mut self) {
        self.address = ContactAddress::removed();
        self.contact = ContactFacts {
            marketing_stopped_at: self.contact.marketing_stopped_at,
            ..ContactFacts::default()
        };
        self.features = FeatureNotes {
            thread_hold: self.features.thread_hold.take(),
            ..FeatureNotes::default()
        };
        self.opening.closed_told_at = None;
        self.close_questions();
        self.people = PeopleNotes::default();
        self.linked = LinkedConversations::default();
        self.silences = Vec::new();
        self.unsent_use = Vec::new();
        self.limits = UsedLimits::default();
        let end = self.last.next_ordinal();
        self.trim_history(end, self.erased_at.unwrap_or(self.last_message_at));
        self.human = self.human.min(Ordinal(end.0.saturating_sub(1)));
    }

    /// Returns `true` if nothing of the contact is left.
    pub fn is_erased(&self) -> bool {
        self.erased_at.is_some() && self.address.is_removed()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;
    use crate::conversation::{ConversationLabel, ConversationMode};
    use crate::ids::TokenName;
    use crate::millis::from_unix_millis;

    #[test]
    fn a_tombstone_says_when_and_holds_nothing_of_the_contact() {
        let mut c = conversation();
        c.receive_message(true, from_unix_millis(1)).unwrap();
        c.update_contact_details(Some("Bia"), Some("+5511999998888"));
        c.contact.known_as = ContactAddress::parse("123456789@lid");
        c.record_contact_activity(from_unix_millis(1));
        let ana = TokenName::parse("ana").unwrap();
        c.add_person_note(&ana, "Bia pays later", from_unix_millis(2))
            .unwrap();
        let label = ConversationLabel::parse("bia-vip").unwrap();
        c.change_labels(&[label].into(), &[].into()).unwrap();
        let epoch = c.epoch;
        c.begin_erasure(from_unix_millis(5));
        assert!(!c.owes_answer() && c.epoch > epoch && c.listed_status().is_none() && !c.is_erased());
        assert!(
            c.contact.known_as.is_some(),
            "the other identity is still to be erased"
        );
        c.finish_erasure();
        let text = serde_json::to_string(&c).unwrap();
        for personal in ["5511", "Bia", "bia", "123456789"] {
            assert!(!text.contains(personal), "{text}");
        }
        assert!(c.is_erased() && text.contains(r#""erased_at":5"#), "{text}");
        assert!(c.is_history_complete(&[], 10) && c.is_settled());
        c.give_back_to_agent(Ordinal(0), from_unix_millis(6));
        assert!(!c.owes_answer() && c.mode == ConversationMode::Ai);
    }

    #[test]
    fn the_next_conversation_begins_anew_and_still_wants_no_marketing() {
        let mut c = conversation();
        c.receive_message(true, from_unix_millis(1)).unwrap();
        c.contact.known_as = ContactAddress::parse("123456789@lid");
        c.record_contact_activity(from_unix_millis(1));
        c.contact.marketing_stopped_at = Some(from_unix_millis(1));
        c.begin_erasure(from_unix_millis(5));
        let mut next = conversation();
        next.carry_over(&c);
        assert_eq!(next.contact.marketing_stopped_at, Some(from_unix_millis(1)));
        assert_eq!(
            (next.contact.known_as, next.contact.last_inbound_at),
            (None, None)
        );
    }
}
