//! One person in several threads. When a contact turns out to be known under another identity, the conversation goes on
//! under a single identity, and the other conversation points to it.

use super::{Conversation, ConversationMode, ConversationStatus};
use crate::contact::ContactAddress;
use crate::ids::{ConversationId, MessageId, Ordinal};
use crate::invitations::InvitedGuest;

/// Greatest number of replaced conversations whose history is read together with a conversation's own.
pub const JOINED_MAX: usize = 4;

impl Conversation {
    /// Returns `other` if it is an identity not yet recorded for the contact.
    pub fn find_new_identity<'a>(&self, other: Option<&'a ContactAddress>) -> Option<&'a ContactAddress> {
        other.filter(|other| self.known_as.as_ref() != Some(other))
    }

    /// Returns `true` if the contact may still be the person of the identity `also`: no other identity was learnt
    /// since.
    pub fn may_have_identity(&self, also: &ContactAddress) -> bool {
        self.known_as.as_ref().is_none_or(|known_as| known_as == also)
    }

    /// Resolves this conversation, in which nobody has written yet, and makes it point to `other`, the person's
    /// conversation.
    pub fn redirect_to(&mut self, other: &ConversationId) {
        self.status = ConversationStatus::Resolved;
        self.mark_moved_to(other);
    }

    /// Makes `other` the conversation for the person's future messages. Answers that are owed here are still given
    /// here.
    pub fn mark_moved_to(&mut self, other: &ConversationId) {
        self.moved_to = Some(other.clone());
    }

    /// Takes the place of `left`, the same person's conversation under another identity. Of the contact's data, the
    /// later times are kept, and outgoing messages here wait for those that were made in `left` before.
    pub fn absorb_conversation(&mut self, left: &Self) {
        self.pair_arrival = self.pair_arrival.max(left.pair_arrival);
        if left.last_inbound_at > self.last_inbound_at {
            self.session_started_at = left.session_started_at;
        }
        self.last_inbound_at = self.last_inbound_at.max(left.last_inbound_at);
        if self.invited.is_none() {
            self.invited = left.invited.clone().map(InvitedGuest::without_ordinal);
        }
        self.marketing_stopped_at = self.marketing_stopped_at.max(left.marketing_stopped_at);
        let at = |conversation: &Self| conversation.reengaged.as_ref().map(|reengaged| reengaged.at);
        if at(self) < at(left) {
            self.reengaged.clone_from(&left.reengaged);
        }
        if self.name.is_none() {
            self.name.clone_from(&left.name);
        }
        if self.picture.is_none() {
            self.picture.clone_from(&left.picture);
        }
        self.closed_told_at = self.closed_told_at.max(left.closed_told_at);
        if self.step.is_none() {
            self.step.clone_from(&left.step);
        }
        self.asked = left.asked;
        self.left_question = left.newest_question().or(self.left_question.take());
        self.continue_hand_over(left);
        if !self.beside.contains(&left.id) {
            self.beside.push(left.id.clone());
        }
        if left.status == ConversationStatus::Active {
            self.join_history(left);
        }
    }

    /// Returns the newest question with options that waits for the contact's next message.
    pub fn newest_question(&self) -> Option<MessageId> {
        let own = (!self.open_question.is_zero()).then(|| self.id.message_id(self.open_question));
        own.or_else(|| self.left_question.clone())
    }

    /// Forgets the questions that wait for the contact's next message.
    pub fn close_questions(&mut self) {
        self.open_question = Ordinal(0);
        self.left_question = None;
    }

    /// Lets the history of `left`, which went on until now, be read together with this one's.
    fn join_history(&mut self, left: &Self) {
        for id in left.joined.iter().chain([&left.id]) {
            if *id != self.id && !self.joined.contains(id) {
                self.joined.push(id.clone());
            }
        }
        let beyond = self.joined.len().saturating_sub(JOINED_MAX);
        self.joined.drain(..beyond);
    }

    /// Returns the person's other conversations whose history belongs to this one's: those that it replaced, and the one that
    /// replaced it.
    pub fn history_conversations(&self) -> impl Iterator<Item = &ConversationId> {
        self.joined.iter().chain(&self.moved_to)
    }

    /// Returns `true` if nothing is owed here and nothing will be, unless somebody redrives a message.
    pub fn is_settled(&self) -> bool {
        let answered = self.mode == ConversationMode::Ai || self.answered <= self.human;
        self.status == ConversationStatus::Resolved || (!self.owes_answer() && answered)
    }

    /// Returns `true` if the conversation is over: resolved, or moved to another one with nothing owed here.
    pub fn is_finished(&self) -> bool {
        self.status == ConversationStatus::Resolved || (self.moved_to.is_some() && !self.owes_answer())
    }

    /// Returns the status that people see. `None`: nobody wrote in this conversation, and it only points to another; or
    /// the contact was erased.
    pub fn listed_status(&self) -> Option<ConversationStatus> {
        if self.erased_at.is_some() {
            return None;
        }
        if self.moved_to.is_some() && self.last == Ordinal(0) {
            return None;
        }
        Some(if self.is_finished() {
            ConversationStatus::Resolved
        } else {
            ConversationStatus::Active
        })
    }

    /// Returns the person's other conversations that may hold earlier messages still on their way.
    pub fn linked_conversations(&self) -> Vec<ConversationId> {
        self.moved_to.iter().chain(&self.beside).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
