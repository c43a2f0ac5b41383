//! Who handed a conversation over last: the takeover, give-back or resolve to which its mode and status go back.

use super::{Annotations, Conversation, ConversationMode, ConversationStatus, HandOverNote};
use crate::ids::TokenName;
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A takeover, a give-back or a resolve, with who did it. The conversation's mode and status say which one it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// Name of the token, or [`TokenName::phone`] if somebody typed on the phone of the number.
    pub by: TokenName,
    /// Time of the change.
    #[serde(with = "millis")]
    pub at: Timestamp,
}

/// The people who took part in a conversation, and what they wrote beside it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PeopleNotes {
    /// The last takeover, give-back or resolve, which led to the mode and the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
    /// The person who took the conversation over or answered last, and since when it is that person. `None` while the
    /// agent has the conversation, and if no person acted yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<Handover>,
    /// The agent's note of its last hand-over, until the agent has the conversation again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand_over_note: Option<HandOverNote>,
    /// The labels and notes that people wrote beside it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub annotations: Annotations,
}

impl Conversation {
    /// Records who made the change of the mode or status just made.
    pub fn sign_handover(&mut self, by: &TokenName, at: Timestamp) {
        self.people.handover = Some(Handover { by: by.clone(), at });
    }

    /// Records that `by` takes the conversation, unless a person has it already. Returns `true` if the conversation changed.
    pub fn sign_taking(&mut self, by: &TokenName, at: Timestamp) -> bool {
        let is_untaken = self.people.taken.is_none();
        is_untaken && self.sign_person(by, at)
    }

    /// Records that `by` answered: a conversation that people have is this person's from now on. Returns `true` if it was
    /// not before.
    pub fn sign_person(&mut self, by: &TokenName, at: Timestamp) -> bool {
        let goes_on = self.mode == ConversationMode::Manual && self.status == ConversationStatus::Active;
        let is_same = self.people.taken.as_ref().is_some_and(|taken| taken.by == *by);
        if !goes_on || is_same {
            return false;
        }
        self.people.taken = Some(Handover { by: by.clone(), at });
        true
    }

    /// Takes the conversation over because people have `other`, of the same person. Returns `false` if people had it
    /// already.
    pub fn take_over_with(&mut self, other: &Self) -> bool {
        let taken = self.take_over();
        if taken {
            self.people.handover.clone_from(&other.people.handover);
            self.people.taken.clone_from(&other.people.taken);
            self.agent_returns_at = other.agent_returns_at;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;
    use crate::millis::from_unix_millis;

    #[test]
    fn who_has_one_conversation_of_a_person_has_the_other_unless_people_had_it_before() {
        let (mut one, mut other, mut third) = (conversation(), conversation(), conversation());
        assert!(one.take_over());
        one.sign_handover(&TokenName::phone(), from_unix_millis(7));
        assert!(other.take_over_with(&one) && !other.take_over_with(&third));
        assert_eq!(other.people.handover, one.people.handover);
        let text = serde_json::to_string(&other).unwrap();
        assert!(text.contains(r#""handover":{"by":"phone","at":7}"#), "{text}");
        assert!(third.take_over_with(&conversation()) && third.people.handover.is_none());
    }

    #[test]
    fn a_conversation_is_its_first_takers_until_another_person_answers() {
        let name = |text: &str| TokenName::parse(text).unwrap();
        let (ana, beto) = (name("ana"), name("beto"));
        let mut c = conversation();
        assert!(!c.sign_person(&ana, from_unix_millis(1)), "the agent has it");
        c.take_over();
        assert!(c.sign_taking(&ana, from_unix_millis(2)));
        assert!(!c.sign_taking(&beto, from_unix_millis(3)) && !c.sign_person(&ana, from_unix_millis(4)));
        let taken = |c: &Conversation| c.people.taken.clone().map(|taken| (taken.by, taken.at));
        assert_eq!(taken(&c), Some((ana, from_unix_millis(2))));
        let mut other = conversation();
        assert!(other.take_over_with(&c) && other.people.taken == c.people.taken);
        assert!(c.sign_person(&beto, from_unix_millis(5)));
        assert_eq!(taken(&c), Some((beto, from_unix_millis(5))));
        let mut resolved = c.clone();
        resolved.resolve_if_seen(resolved.last_inbound).unwrap();
        assert!(
            resolved.people.taken.is_none()
                && !resolved.sign_person(&TokenName::phone(), from_unix_millis(6))
        );
        c.give_back_to_agent(c.last, from_unix_millis(6));
        assert!(c.people.taken.is_none());
    }
}
