//! What is left when a turn cannot read all that is owed: the next turn goes on at once, and after some in a row a person
//! does.

use super::{Conversation, ConversationMode, ConversationStatus};
use crate::reason::Reason;

/// So many turns in a row may leave something unread; then the rest waits for a person.
pub const UNREAD_TURNS_MAX: u32 = 3;

impl Conversation {
    /// Whether an answer is owed that is the agent's to give.
    pub fn agent_owes_answer(&self) -> bool {
        self.owes_answer()
            && self.mode == ConversationMode::Ai
            && self.status == ConversationStatus::Active
            && self.needs_person.is_none()
    }

    /// Counts a turn that was committed. `rest`: it read less than what was owed.
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

    /// The agent may read on: a person looked, or the contact wrote again.
    pub(super) fn reset_unread_turns(&mut self) {
        self.unread_turns = 0;
        self.needs_person = None;
    }
}

#[cfg(test)]
mod tests;
