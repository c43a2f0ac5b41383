//! The end of a conversation.

use super::{Conversation, ConversationError, ConversationStatus};
use crate::ids::Ordinal;

impl Conversation {
    /// Resolves the conversation, if whoever resolves it has seen all messages of the contact (up to `seen`). Returns
    /// `false` if it was resolved already. Refused with [`ConversationError::NewerMessage`] if the contact wrote after
    /// `seen`.
    pub fn resolve_if_seen(&mut self, seen: Ordinal) -> Result<bool, ConversationError> {
        if self.last_inbound > seen {
            return Err(ConversationError::NewerMessage);
        }
        if self.status == ConversationStatus::Resolved {
            return Ok(false);
        }
        self.status = ConversationStatus::Resolved;
        self.epoch += 1;
        self.answered = self.answered.max(self.turn_upto);
        self.end_turns();
        Ok(true)
    }

    /// Ends everything that waits in a conversation that was just resolved.
    pub(super) fn end_turns(&mut self) {
        self.waiting_since = None;
        self.opening.scheduled_for = None;
        self.agent_returns_at = None;
        self.people.taken = None;
        self.reset_unread_turns();
    }
}
