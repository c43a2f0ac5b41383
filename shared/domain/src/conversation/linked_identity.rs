//! One person in several threads: where a conversation goes on when its contact turns out to be known under another identity,
//! and what is left behind.

use super::{Conversation, ConversationMode, ConversationStatus};
use crate::contact::ContactAddress;
use crate::ids::{ConversationId, Ordinal};

impl Conversation {
    /// The identity that `other` adds to what is known of the contact, if it does.
    pub fn find_new_identity<'a>(&self, other: Option<&'a ContactAddress>) -> Option<&'a ContactAddress> {
        other.filter(|other| self.known_as.as_ref() != Some(other))
    }

    /// Whether its contact may still be the person of the identity `also`: no other one was learnt since.
    pub fn may_have_identity(&self, also: &ContactAddress) -> bool {
        self.known_as.as_ref().is_none_or(|known_as| known_as == also)
    }

    /// Makes this conversation, which nobody wrote in yet, lead to where the person's goes on.
    pub fn redirect_to(&mut self, other: &ConversationId) {
        self.status = ConversationStatus::Resolved;
        self.mark_moved_to(other);
    }

    /// What comes in for the person goes to `other` from now on. What is owed here is answered here.
    pub fn mark_moved_to(&mut self, other: &ConversationId) {
        self.moved_to = Some(other.clone());
    }

    /// Takes the place of `left`, the same person's conversation under another identity: what is the contact's is as both
    /// know it, and what goes out waits for what was made there before.
    pub fn absorb_conversation(&mut self, left: &Self) {
        self.pair_arrival = self.pair_arrival.max(left.pair_arrival);
        self.last_inbound_at = self.last_inbound_at.max(left.last_inbound_at);
        self.marketing_stopped_at = self.marketing_stopped_at.max(left.marketing_stopped_at);
        let at = |conversation: &Self| conversation.reengaged.as_ref().map(|reengaged| reengaged.at);
        if at(self) < at(left) {
            self.reengaged.clone_from(&left.reengaged);
        }
        if self.name.is_none() {
            self.name.clone_from(&left.name);
        }
        if !self.beside.contains(&left.id) {
            self.beside.push(left.id.clone());
        }
    }

    /// Whether nothing is owed here and nothing will be, unless somebody redrives a message.
    pub fn is_settled(&self) -> bool {
        let answered = self.mode == ConversationMode::Ai || self.answered <= self.human;
        self.status == ConversationStatus::Resolved || (!self.owes_answer() && answered)
    }

    /// Whether it is over: resolved, or left for another one with nothing owed.
    pub fn is_finished(&self) -> bool {
        self.status == ConversationStatus::Resolved || (self.moved_to.is_some() && !self.owes_answer())
    }

    /// The status under which people see it; `None` for one in which nobody wrote and that only leads to another.
    pub fn listed_status(&self) -> Option<ConversationStatus> {
        if self.moved_to.is_some() && self.last == Ordinal(0) {
            return None;
        }
        Some(if self.is_finished() {
            ConversationStatus::Resolved
        } else {
            ConversationStatus::Active
        })
    }

    /// The person's other conversations in which something may be on its way that was made before.
    pub fn linked_conversations(&self) -> Vec<ConversationId> {
        self.moved_to.iter().chain(&self.beside).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
