//! The effects of the agent's decisions. They are committed together with the reply, so a discarded draft decides nothing.

use super::{Conversation, ConversationMode, ConversationStatus};
use crate::decision::AgentDecision;
use crate::ids::{StepId, TokenName};
use crate::millis;
use crate::reason::Reason;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The agent's explanation of a hand-over, for the person who takes the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOverNote {
    /// Text of the agent. It may hold personal data.
    pub text: String,
    /// Time of the hand-over.
    #[serde(with = "millis")]
    pub at: Timestamp,
}

/// The effect of a decision on the reply that is committed with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommittedDecision {
    /// The agent goes on: the reply is one like any other.
    GoesOn,
    /// The reply is the agent's last words: a takeover does not cancel it.
    LastWords,
    /// The decision has no effect, because the contact wrote meanwhile.
    Dropped,
}

impl Conversation {
    /// Applies the decision that the agent took with the reply that was just committed at `at`. `step` is the step at
    /// which the reply was drafted.
    ///
    /// A resolve is dropped if something is still owed: the contact wrote while the agent thought. A hand-over is not:
    /// the person reads that.
    pub fn apply_decision(
        &mut self,
        step: Option<StepId>,
        decision: Option<&AgentDecision>,
        at: Timestamp,
    ) -> CommittedDecision {
        self.features.step = step;
        match decision {
            None => CommittedDecision::GoesOn,
            Some(AgentDecision::MoveToStep(next)) => {
                self.features.step = Some(next.clone());
                CommittedDecision::GoesOn
            }
            Some(AgentDecision::HandOver { note }) => {
                self.reset_unread_turns();
                self.needs_person = Some(Reason::HandedOver);
                let text = note.clone();
                self.people.hand_over_note = Some(HandOverNote { text, at });
                CommittedDecision::LastWords
            }
            Some(AgentDecision::Resolve) if self.owes_answer() => CommittedDecision::Dropped,
            Some(AgentDecision::Resolve) => {
                self.status = ConversationStatus::Resolved;
                self.end_turns();
                self.sign_handover(&TokenName::agent(), at);
                CommittedDecision::LastWords
            }
        }
    }

    /// Leaves a note for people about an effect of which nobody knows how it ended. If the agent has the conversation, a person is
    /// waited for from now on. Returns `false` if nothing changed, since the conversation is resolved or erased.
    pub fn note_open_effect(&mut self, text: &str, at: Timestamp) -> bool {
        if self.status == ConversationStatus::Resolved || !self.note_for_people(text, at) {
            return false;
        }
        if let Some(note) = &mut self.people.hand_over_note {
            note.at = at;
        }
        if self.mode == ConversationMode::Ai {
            self.needs_person = Some(Reason::HandedOver);
        }
        true
    }

    /// Leaves a note for people, below those that stand there, whose time stays. Nobody is waited for. Returns `false` if nothing changed, since the note
    /// stands there already or the conversation is erased.
    pub fn note_for_people(&mut self, text: &str, at: Timestamp) -> bool {
        if self.erased_at.is_some() {
            return false;
        }
        let Some(note) = &mut self.people.hand_over_note else {
            let text = text.to_owned();
            self.people.hand_over_note = Some(HandOverNote { text, at });
            return true;
        };
        if note.text.contains(text) {
            return false;
        }
        note.text.push('\n');
        note.text.push_str(text);
        true
    }

    /// Returns the time of the agent's hand-over, if no person has acted since.
    pub(super) fn untaken_hand_over(&self) -> Option<Timestamp> {
        let note = self.people.hand_over_note.as_ref()?;
        (self.needs_person == Some(Reason::HandedOver)).then_some(note.at)
    }

    /// Takes the agent's hand-over of `left` over, in whose place this conversation comes. If people have this one, the
    /// hand-over is taken.
    pub(super) fn continue_hand_over(&mut self, left: &Self) {
        if left.untaken_hand_over().is_some() && self.people.hand_over_note.is_none() {
            self.people.hand_over_note.clone_from(&left.people.hand_over_note);
            if self.mode == ConversationMode::Ai {
                self.needs_person = left.needs_person;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{conversation, nonce};
    use super::*;
    use crate::conversation::Draft;
    use crate::ids::Ordinal;
    use crate::millis::from_unix_millis;
    use jiff::SignedDuration;

    fn hand_over() -> AgentDecision {
        let note = "asks for a person".to_owned();
        AgentDecision::HandOver { note }
    }

    /// A conversation whose first message is being answered.
    fn drafted() -> (Conversation, Draft) {
        let mut c = conversation();
        let asked = c.receive_message(true, from_unix_millis(1)).unwrap();
        let draft = c.acquire_lease(nonce("a"), asked, from_unix_millis(2), from_unix_millis(99));
        (c, draft)
    }

    fn commit(c: &mut Conversation, draft: &Draft, decision: &AgentDecision) -> CommittedDecision {
        c.commit_reply(draft, from_unix_millis(5)).unwrap();
        c.apply_decision(None, Some(decision), from_unix_millis(5))
    }

    #[test]
    fn after_a_hand_over_a_person_is_waited_for_until_one_acts() {
        let (mut c, draft) = drafted();
        assert_eq!(commit(&mut c, &draft, &hand_over()), CommittedDecision::LastWords);
        assert_eq!(
            (c.mode, c.epoch, c.owes_answer()),
            (ConversationMode::Ai, 0, false)
        );
        assert_eq!(c.person_owed_since(), Some(from_unix_millis(5)));
        c.receive_message(true, from_unix_millis(9)).unwrap();
        assert!(c.owes_answer() && !c.agent_owes_answer(), "the agent is silent");
        assert_eq!(c.person_owed_since(), Some(from_unix_millis(5)));
        let mut taken = c.clone();
        assert!(taken.take_over());
        assert_eq!(
            taken.person_owed_since(),
            Some(from_unix_millis(9)),
            "the answer is owed"
        );
        assert_eq!(
            taken.people.hand_over_note, c.people.hand_over_note,
            "who takes it reads why"
        );
        let mut answered = c.clone();
        answered.record_operator_answer(Ordinal(9), true, from_unix_millis(10));
        assert_eq!(answered.person_owed_since(), None);
        let mut back = c.clone();
        assert!(back.give_back_to_agent(Ordinal(1), from_unix_millis(10)));
        assert!(back.agent_owes_answer() && back.people.hand_over_note.is_none());
        c.resolve_if_seen(Ordinal(9)).unwrap();
        assert_eq!((c.person_owed_since(), c.needs_person), (None, None));
    }

    #[test]
    fn the_agent_resolves_unless_the_contact_wrote_meanwhile() {
        let (mut c, draft) = drafted();
        let mut newer = c.clone();
        assert_eq!(
            commit(&mut c, &draft, &AgentDecision::Resolve),
            CommittedDecision::LastWords
        );
        assert_eq!((c.status, c.epoch), (ConversationStatus::Resolved, 0));
        assert_eq!(
            c.people.handover.map(|handover| handover.by),
            Some(TokenName::agent())
        );
        newer.receive_message(true, from_unix_millis(4)).unwrap();
        assert_eq!(
            commit(&mut newer, &draft, &AgentDecision::Resolve),
            CommittedDecision::Dropped
        );
        assert!(newer.status == ConversationStatus::Active && newer.agent_owes_answer());
    }

    #[test]
    fn a_hand_over_holds_although_the_contact_wrote_meanwhile() {
        let (mut c, draft) = drafted();
        c.receive_message(true, from_unix_millis(4)).unwrap();
        assert_eq!(commit(&mut c, &draft, &hand_over()), CommittedDecision::LastWords);
        assert!(c.owes_answer() && !c.agent_owes_answer());
        let later = c.decide_turn(Ordinal(2), from_unix_millis(50), SignedDuration::from_secs(9));
        assert_eq!(later, crate::conversation::TurnDecision::NothingOwed);
    }

    #[test]
    fn the_step_is_that_of_the_last_committed_reply() {
        let (mut c, draft) = drafted();
        let step = |id: &str| StepId::parse(id).ok();
        c.commit_reply(&draft, from_unix_millis(5)).unwrap();
        assert_eq!(
            c.apply_decision(step("ask"), None, from_unix_millis(5)),
            CommittedDecision::GoesOn
        );
        assert_eq!(c.features.step, step("ask"));
        let moved = AgentDecision::MoveToStep(step("pay").unwrap());
        c.apply_decision(step("ask"), Some(&moved), from_unix_millis(6));
        assert_eq!(c.features.step, step("pay"));
    }

    #[test]
    fn a_hand_over_goes_on_under_the_persons_other_name() {
        let (mut left, draft) = drafted();
        commit(&mut left, &draft, &hand_over());
        let (mut to, mut peoples) = (conversation(), conversation());
        to.absorb_conversation(&left);
        assert_eq!(
            (to.needs_person, to.person_owed_since()),
            (Some(Reason::HandedOver), Some(from_unix_millis(5)))
        );
        peoples.take_over();
        peoples.absorb_conversation(&left);
        assert_eq!(
            (peoples.needs_person, peoples.people.hand_over_note),
            (None, left.people.hand_over_note)
        );
    }

    #[test]
    fn nothing_of_the_note_is_left_of_an_erased_contact() {
        let (mut c, draft) = drafted();
        commit(&mut c, &draft, &hand_over());
        c.begin_erasure(from_unix_millis(7));
        c.finish_erasure();
        let text = serde_json::to_string(&c).unwrap();
        assert!(!text.contains("asks for"), "{text}");
    }
}
