//! Turns that cannot read all that is owed: the next turn goes on at once, and after [`UNREAD_TURNS_MAX`] turns in a
//! row the rest waits for a person.

use super::{Conversation, ConversationMode, ConversationStatus};
use crate::reason::Reason;
use jiff::Timestamp;

/// Number of turns in a row that may leave a message unread. After that, the rest waits for a person.
pub const UNREAD_TURNS_MAX: u32 = 3;

impl Conversation {
    /// Returns `true` if an answer is owed, by the agent or by people.
    pub fn owes_answer(&self) -> bool {
        self.turn_upto > self.answered
    }

    /// Returns `true` if an answer is owed and the agent is to give it.
    pub fn agent_owes_answer(&self) -> bool {
        self.owes_answer()
            && self.mode == ConversationMode::Ai
            && self.status == ConversationStatus::Active
            && self.needs_person.is_none()
    }

    /// Returns the time since which the contact waits for a person; `None` if no person owes an answer. After the agent's
    /// hand-over, that is the time of the hand-over, until a person acts; after its error message, the time of that.
    pub fn person_owed_since(&self) -> Option<Timestamp> {
        if self.is_finished() {
            return None;
        }
        let by_person = self.mode == ConversationMode::Manual || self.needs_person.is_some();
        let owed = self.waiting_since.filter(|_| by_person && self.owes_answer());
        self.untaken_hand_over().or_else(|| self.failed_since()).or(owed)
    }

    /// Counts a turn that was committed. `rest`: the turn read less than was owed.
    pub(super) fn count_unread_turn(&mut self, rest: bool) {
        self.unread_turns = if rest {
            self.unread_turns.saturating_add(1)
        } else {
            0
        };
        if rest && self.owes_answer() && self.unread_turns >= UNREAD_TURNS_MAX {
            self.needs_person = Some(Reason::TooMuchToRead);
        }
    }

    /// Lets the agent read on, because a person acted or the contact wrote again.
    pub(super) fn reset_unread_turns(&mut self) {
        self.unread_turns = 0;
        self.needs_person = None;
        self.failed_reply = None;
    }
}

#[cfg(test)]
mod tests;
