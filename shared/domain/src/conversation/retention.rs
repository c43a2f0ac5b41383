//! The end of messages that are kept no longer. A conversation is a row of ordinals: its beginning goes, its end stays.

use super::Conversation;
use crate::ids::Ordinal;
use crate::message::{Message, Role};
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The part of a conversation's history that is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptHistory {
    /// The first ordinal of the history: earlier messages are no longer kept, or kept only because something is owed.
    #[serde(default, skip_serializing_if = "Ordinal::is_zero")]
    pub kept_from: Ordinal,
    /// Time from which the retention period of the oldest message counts, if it is not `created_at`.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub oldest_at: Option<Timestamp>,
}

impl Conversation {
    /// Returns the time from which the retention period of the oldest message counts.
    pub fn kept_since(&self) -> Timestamp {
        self.kept.oldest_at.unwrap_or(self.created_at)
    }

    /// Returns `true` if `messages`, all that are stored of the newest ones, are the history without a gap. `limit`:
    /// greatest number that was read.
    pub fn is_history_complete(&self, messages: &[Message], limit: usize) -> bool {
        let first = self.kept.kept_from.max(Ordinal(1));
        let newest = messages.iter().rev().map(|message| message.ordinal.0);
        let kept = (self.last.0 + 1).saturating_sub(first.0);
        let read = u64::try_from(limit).unwrap_or(u64::MAX).min(kept);
        newest.eq((first.0..=self.last.0).rev().take(messages.len())) && (messages.is_empty() == (read == 0))
    }

    /// Returns `true` if `message` is the contact's and an answer to it is owed.
    pub fn is_message_owed(&self, message: &Message) -> bool {
        self.owes_answer() && message.role == Role::User && message.ordinal > self.answered
    }

    /// Ends the keeping of the messages before `first`. `oldest_at` is the time of the oldest message that stays, or a
    /// later one if a message stays because something is owed. The messages before `first` count as answered for good.
    pub fn trim_history(&mut self, first: Ordinal, oldest_at: Timestamp) {
        self.kept.kept_from = self.kept.kept_from.max(first);
        self.human = self.human.max(Ordinal(self.kept.kept_from.0.saturating_sub(1)));
        self.kept.oldest_at = Some(oldest_at);
    }
}

#[cfg(test)]
mod tests;
