//! Changes of a message after it was written: reactions, edits and a deletion.
//!
//! Each of them comes as a message of its own, which keeps its place in the conversation. The message that it is about
//! gets a copy, so that it shows its present state. Changes may be recorded twice and in any order.

use super::{Message, Role, render_with_context};
use crate::choice::ChosenOption;
use crate::content::{Content, UNKNOWN_EDIT};
use crate::context::MessageContext;
use crate::ids::TokenName;
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Maximum number of edits that are kept with a message. All of them stay messages of their own.
const EDITS_MAX: usize = 20;

/// Maximum number of bytes of all texts of the edits that are kept with a message.
const EDITS_BYTES_MAX: usize = 64 * 1024;

/// The changes of a message after it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageChanges {
    /// The last reaction of each side, also if it was taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reactions: Vec<MessageReaction>,
    /// The edits, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edits: Vec<MessageEdit>,
    /// Time at which the author deleted the message for everyone.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    deleted_at: Option<Timestamp>,
}

/// The place of a change among the changes of one message: by the provider's clock, then by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct ChangeTime {
    #[serde(with = "millis")]
    at: Timestamp,
    #[serde(with = "millis")]
    stored_at: Timestamp,
}

/// A side's reaction to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageReaction {
    /// The side that reacted.
    pub role: Role,
    /// The token with which the reaction was ordered, or [`TokenName::phone`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<TokenName>,
    /// The emoji; `None` if the reaction was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    emoji: Option<String>,
    #[serde(flatten)]
    time: ChangeTime,
}

impl MessageReaction {
    /// Returns the time of the reaction, by the provider's clock.
    pub fn at(&self) -> Timestamp {
        self.time.at
    }
}

/// An edit of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEdit {
    /// Content of the message after the edit.
    content: Content,
    #[serde(flatten)]
    time: ChangeTime,
}

/// A version of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageVersion<'a> {
    /// Content of the message in this version.
    pub content: &'a Content,
    /// Time at which this version was written.
    pub at: Timestamp,
}

impl MessageChanges {
    /// Returns `true` if the message was never changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the reactions that were not taken back, with their emojis.
    pub fn present_reactions(&self) -> impl Iterator<Item = (&MessageReaction, &str)> {
        self.reactions
            .iter()
            .filter_map(|reaction| Some((reaction, reaction.emoji.as_deref()?)))
    }

    /// Returns the time of the newest edit; `None` if the message was never edited.
    pub fn edited_at(&self) -> Option<Timestamp> {
        self.edits.last().map(|edit| edit.time.at)
    }

    /// Returns the time at which the message was deleted; `None` if it was not.
    pub fn deleted_at(&self) -> Option<Timestamp> {
        self.deleted_at
    }

    /// Returns the word for what differs from `other`: a deletion, an edit or a reaction.
    pub fn name_difference(&self, other: &Self) -> &'static str {
        if self.deleted_at != other.deleted_at {
            "deletion"
        } else if self.edits != other.edits {
            "edit"
        } else {
            "reaction"
        }
    }

    fn record_reaction(&mut self, reaction: MessageReaction) -> bool {
        let is_of_contact = |role: Role| role == Role::User;
        let side = is_of_contact(reaction.role);
        let known = self
            .reactions
            .iter_mut()
            .find(|known| is_of_contact(known.role) == side);
        match known {
            Some(known) if known.time >= reaction.time => return false,
            Some(known) => *known = reaction,
            None => self.reactions.push(reaction),
        }
        true
    }

    fn record_edit(&mut self, edit: MessageEdit) -> bool {
        let after = |known: &MessageEdit| known.time <= edit.time;
        let place = self.edits.partition_point(after);
        if self.edits[..place].last() == Some(&edit) {
            return false;
        }
        self.edits.insert(place, edit);
        while self.edits.len() > EDITS_MAX || self.edits_len() > EDITS_BYTES_MAX && self.edits.len() > 1 {
            self.edits.remove(0);
        }
        true
    }

    fn edits_len(&self) -> usize {
        self.edits
            .iter()
            .map(|edit| edit.content.render_text().len())
            .sum()
    }
}

impl Message {
    /// Returns the content of the message as its newest edit left it. An edit whose text is not known leaves it as it was.
    pub fn present_content(&self) -> &Content {
        let mut edits = self.changes.edits.iter().rev().map(|edit| &edit.content);
        edits
            .find(|content| !content.is_unreadable())
            .unwrap_or(&self.content)
    }

    /// Returns the option that the message chooses. `None` if it chooses none, or was edited since.
    pub fn present_choice(&self) -> Option<&ChosenOption> {
        let chosen = self.context.chosen.as_deref();
        chosen.filter(|_| self.changes.edits.is_empty())
    }

    /// Renders the message as its newest edit left it. If the text of that edit is not known, the earlier text says so.
    pub fn render_present_text(&self) -> String {
        let Some(edit) = self.changes.edits.last() else {
            return self.render_text();
        };
        // An edited text chooses nothing: the option was found for the text before it.
        let text = render_with_context(&self.context.without_choice(), self.present_content());
        if edit.content.is_unreadable() {
            format!("{text} {UNKNOWN_EDIT}")
        } else {
            text
        }
    }

    /// Returns the versions of the message before its newest edit, the oldest first; none if it was never edited.
    pub fn earlier_versions(&self) -> Vec<MessageVersion<'_>> {
        let first = MessageVersion {
            content: &self.content,
            at: self.written_at,
        };
        let edits = self.changes.edits.iter().map(|edit| MessageVersion {
            content: &edit.content,
            at: edit.time.at,
        });
        let mut versions: Vec<_> = std::iter::once(first).chain(edits).collect();
        versions.pop();
        versions
    }

    /// Records a later message that reacts to this one, edits it or deletes it. Each side can edit and delete only its
    /// own messages. The text of an edit that comes after the content was removed is not kept. Returns `false` if the
    /// message does not change.
    pub fn record_change(&mut self, later: &Message) -> bool {
        let time = ChangeTime {
            at: later.written_at,
            stored_at: later.stored_at,
        };
        let is_author = (later.role == Role::User) == (self.role == Role::User);
        match &later.content {
            Content::Reaction { emoji, .. } => self.changes.record_reaction(MessageReaction {
                role: later.role,
                by: later.ordered_by(),
                emoji: emoji.clone(),
                time,
            }),
            Content::Edit { content, .. } if is_author && self.content != Content::Removed => {
                let content = Content::clone(content);
                self.changes.record_edit(MessageEdit { content, time })
            }
            Content::Deletion { .. } if is_author && self.changes.deleted_at.is_none() => {
                self.changes.deleted_at = Some(time.at);
                true
            }
            _ => false,
        }
    }

    /// Removes the content of the message, with its context, its versions and the record of its file. Its place, times
    /// and reactions stay.
    pub fn remove_content(&mut self) {
        self.file = None;
        self.content = Content::Removed;
        self.context = MessageContext::default();
        self.changes.edits.clear();
    }
}

#[cfg(test)]
mod tests;
