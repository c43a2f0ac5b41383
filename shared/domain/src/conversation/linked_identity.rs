//! One person in several threads. When a contact turns out to be known under another identity, the conversation goes on
//! under a single identity, and the other conversation points to it.

use super::{Conversation, ConversationMode, ConversationStatus};
use crate::contact::ContactAddress;
use crate::ids::{ConversationId, Ordinal};
use crate::invitations::InvitedGuest;
use serde::{Deserialize, Serialize};

/// Greatest number of replaced conversations whose history is read together with a conversation's own.
pub const JOINED_MAX: usize = 4;

/// The conversations of the same person under other identities.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkedConversations {
    /// The conversation, under another identity of the same person, in which the person's messages go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<ConversationId>,
    /// The person's conversations under other identities that this one replaced, while something may be owed or open there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<ConversationId>,
    /// The person's conversations under other identities that this conversation replaced while they went on, the latest last.
    /// Their history is read together with this one's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<ConversationId>,
}

impl Conversation {
    /// Returns `other` if it is an identity not yet recorded for the contact.
    pub fn find_new_identity<'a>(&self, other: Option<&'a ContactAddress>) -> Option<&'a ContactAddress> {
        other.filter(|other| self.contact.known_as.as_ref() != Some(other))
    }

    /// Returns `true` if the contact may still be the person of the identity `also`: no other identity was learnt
    /// since.
    pub fn may_have_identity(&self, also: &ContactAddress) -> bool {
        self.contact
            .known_as
            .as_ref()
            .is_none_or(|known_as| known_as == also)
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
        self.linked.moved_to = Some(other.clone());
    }

    /// Takes the place of `left`, the same person's conversation under another identity. Of the contact's data, the
    /// later times are kept, and outgoing messages here wait for those that were made in `left` before.
    pub fn absorb_conversation(&mut self, left: &Self) {
        self.contact.pair_arrival = self.contact.pair_arrival.max(left.contact.pair_arrival);
        if left.contact.last_inbound_at > self.contact.last_inbound_at {
            self.contact.session_started_at = left.contact.session_started_at;
        }
        self.contact.last_inbound_at = self.contact.last_inbound_at.max(left.contact.last_inbound_at);
        if self.features.invited.is_none() {
            self.features.invited = left.features.invited.clone().map(InvitedGuest::without_ordinal);
        }
        self.contact.marketing_stopped_at = self
            .contact
            .marketing_stopped_at
            .max(left.contact.marketing_stopped_at);
        let at = |conversation: &Self| {
            conversation
                .features
                .reengaged
                .as_ref()
                .map(|reengaged| reengaged.at)
        };
        if at(self) < at(left) {
            self.features.reengaged.clone_from(&left.features.reengaged);
        }
        if self.contact.name.is_none() {
            self.contact.name.clone_from(&left.contact.name);
        }
        if self.contact.picture.is_none() {
            self.contact.picture.clone_from(&left.contact.picture);
        }
        self.opening.closed_told_at = self.opening.closed_told_at.max(left.opening.closed_told_at);
        if self.features.step.is_none() {
            self.features.step.clone_from(&left.features.step);
        }
        self.questions.asked = left.questions.asked;
        self.questions.left_question = left.newest_question().or(self.questions.left_question.take());
        self.continue_hand_over(left);
        if !self.linked.beside.contains(&left.id) {
            self.linked.beside.push(left.id.clone());
        }
        if left.status == ConversationStatus::Active {
            self.join_history(left);
        }
    }

    /// Lets the history of `left`, which went on until now, be read together with this one's.
    fn join_history(&mut self, left: &Self) {
        for id in left.linked.joined.iter().chain([&left.id]) {
            if *id != self.id && !self.linked.joined.contains(id) {
                self.linked.joined.push(id.clone());
            }
        }
        let beyond = self.linked.joined.len().saturating_sub(JOINED_MAX);
        self.linked.joined.drain(..beyond);
    }

    /// Returns the person's other conversations whose history belongs to this one's: those that it replaced, and the one that
    /// replaced it.
    pub fn history_conversations(&self) -> impl Iterator<Item = &ConversationId> {
        self.linked.joined.iter().chain(&self.linked.moved_to)
    }

    /// Returns `true` if nothing is owed here and nothing will be, unless somebody redrives a message.
    pub fn is_settled(&self) -> bool {
        let answered = self.mode == ConversationMode::Ai || self.answered <= self.human;
        self.status == ConversationStatus::Resolved || (!self.owes_answer() && answered)
    }

    /// Returns `true` if the conversation is over: resolved, or moved to another one with nothing owed here.
    pub fn is_finished(&self) -> bool {
        self.status == ConversationStatus::Resolved || (self.linked.moved_to.is_some() && !self.owes_answer())
    }

    /// Returns the status that people see. `None`: nobody wrote in this conversation, and it only points to another; or
    /// the contact was erased.
    pub fn listed_status(&self) -> Option<ConversationStatus> {
        if self.erased_at.is_some() {
            return None;
        }
        if self.linked.moved_to.is_some() && self.last == Ordinal(0) {
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
        self.linked
            .moved_to
            .iter()
            .chain(&self.linked.beside)
            .cloned()
            .collect()
    }
}

#[cfg(test)]
mod tests;
