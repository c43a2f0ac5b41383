//! Who handed a conversation over last: the takeover, give-back or resolve to which its mode and status go back.

use super::Conversation;
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

    /// Takes the conversation over because people have `other`, of the same person. Returns `false` if people had it
    /// already.
    pub fn take_over_with(&mut self, other: &Self) -> bool {
        let taken = self.take_over();
        if taken {
            self.handover.clone_from(&other.handover);
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
}
