//! Who handed a conversation over last: the takeover, give-back or resolve to which its mode and status go back.

use super::{Conversation, ConversationMode, ConversationStatus};
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

impl Conversation {
    /// Records who made the change of the mode or status just made.
    pub fn sign_handover(&mut self, by: &TokenName, at: Timestamp) {
        self.handover = Some(Handover { by: by.clone(), at });
    }

    /// Records that `by` takes the conversation, unless a person has it already. Returns `true` if the conversation changed.
    pub fn sign_taking(&mut self, by: &TokenName, at: Timestamp) -> bool {
        let is_untaken = self.taken.is_none();
        is_untaken && self.sign_person(by, at)
    }

    /// Records that `by` answered: a conversation that people have is this person's from now on. Returns `true` if it was
    /// not before.
    pub fn sign_person(&mut self, by: &TokenName, at: Timestamp) -> bool {
        let goes_on = self.mode == ConversationMode::Manual && self.status == ConversationStatus::Active;
        let is_same = self.taken.as_ref().is_some_and(|taken| taken.by == *by);
        if !goes_on || is_same {
            return false;
        }
        self.taken = Some(Handover { by: by.clone(), at });
        true
    }

    /// Takes the conversation over because people have `other`, of the same person. Returns `false` if people had it
    /// already.
    pub fn take_over_with(&mut self, other: &Self) -> bool {
        let taken = self.take_over();
        if taken {
            self.handover.clone_from(&other.handover);
            self.taken.clone_from(&other.taken);
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
        assert_eq!(other.handover, one.handover);
        let text = serde_json::to_string(&other).unwrap();
        assert!(text.contains(r#""handover":{"by":"phone","at":7}"#), "{text}");
        assert!(third.take_over_with(&conversation()) && third.handover.is_none());
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
        let taken = |c: &Conversation| c.taken.clone().map(|taken| (taken.by, taken.at));
        assert_eq!(taken(&c), Some((ana, from_unix_millis(2))));
        let mut other = conversation();
        assert!(other.take_over_with(&c) && other.taken == c.taken);
        assert!(c.sign_person(&beto, from_unix_millis(5)));
        assert_eq!(taken(&c), Some((beto, from_unix_millis(5))));
        let mut resolved = c.clone();
        resolved.resolve_if_seen(resolved.last_inbound).unwrap();
        assert!(resolved.taken.is_none() && !resolved.sign_person(&TokenName::phone(), from_unix_millis(6)));
        c.give_back_to_agent(c.last, from_unix_millis(6));
        assert!(c.taken.is_none());
    }
}
