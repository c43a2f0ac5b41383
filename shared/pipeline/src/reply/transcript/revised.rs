//! What later edits and deletions make of the messages that the model reads.

use super::super::reading::Reading;
use recado_domain::content::Content;
use recado_domain::ids::Ordinal;
use recado_domain::message::{Message, Role};
use std::collections::{BTreeMap, BTreeSet};

/// What a message is shown as that was taken back.
pub(super) const DELETED: &str = "[message deleted]";

/// What a message of the contact is shown as that says nothing. It is owed an answer as any other.
const EMPTY: &str = "[empty message]";

/// A message as the provider knows it: whose side it is on, and its id there.
type Target<'a> = (bool, &'a str);

/// Which messages were changed after they were sent. One side changes only its own.
pub(super) struct Revised<'a> {
    originals: BTreeMap<Target<'a>, &'a Message>,
    deleted: BTreeSet<Target<'a>>,
    /// The newest words of each edited message that had not been answered when it was edited.
    edited: BTreeMap<Target<'a>, (&'a Message, &'a Content)>,
    said: Vec<Ordinal>,
    answered: Ordinal,
}

fn side(message: &Message) -> bool {
    message.role == Role::User
}

fn target<'a>(message: &Message, id: Option<&'a String>) -> Option<Target<'a>> {
    id.map(|id| (side(message), id.as_str()))
}

impl<'a> Revised<'a> {
    /// What the messages that are read say of one another, and which of them were taken back by any that is known: their
    /// edits are answered with them, but what they take back is not repeated.
    pub(super) fn of(reading: &'a Reading) -> Self {
        let known = reading.known();
        let mut revised = Self {
            originals: BTreeMap::new(),
            deleted: BTreeSet::new(),
            edited: BTreeMap::new(),
            said: known
                .iter()
                .filter(|message| !side(message))
                .map(|message| message.ordinal)
                .collect(),
            answered: reading.answered,
        };
        for message in known {
            if let Content::Deletion { target: id } = &message.content {
                revised.deleted.extend(target(message, id.as_ref()));
            }
        }
        for message in reading.messages() {
            if !matches!(message.content, Content::Deletion { .. } | Content::Edit { .. }) {
                let own = target(message, message.provider_message_id.as_ref());
                revised.originals.extend(own.map(|own| (own, message)));
            }
        }
        for edit in reading.messages() {
            revised.note(edit);
        }
        revised
    }

    fn note(&mut self, edit: &'a Message) {
        let Content::Edit { target: id, content } = &edit.content else {
            return;
        };
        let Some(at) = target(edit, id.as_ref()).filter(|at| self.takes_its_place(edit, *at)) else {
            return;
        };
        let newest = self.edited.entry(at).or_insert((edit, content));
        if (edit.written_at, edit.ordinal) > (newest.0.written_at, newest.0.ordinal) {
            *newest = (edit, content);
        }
    }

    /// Whether the new words are read in the place of the old: those are among the messages, and nobody had answered them.
    fn takes_its_place(&self, edit: &Message, at: Target<'_>) -> bool {
        let Some(original) = self.originals.get(&at) else {
            return false;
        };
        if !side(edit) {
            return true;
        }
        let between = |said: &Ordinal| (original.ordinal..edit.ordinal).contains(said);
        let was_answered = original.ordinal <= self.answered && self.answered < edit.ordinal;
        !was_answered && !self.said.iter().any(between)
    }

    /// What the model reads of a message; empty if it adds nothing.
    pub(super) fn text(&self, message: &Message) -> String {
        match &message.content {
            Content::Deletion { .. } => String::new(),
            Content::Edit { target: id, .. } => self.text_of_edit(message, target(message, id.as_ref())),
            _ => self.text_of_original(message),
        }
    }

    fn text_of_edit(&self, edit: &Message, at: Option<Target<'_>>) -> String {
        let Some(at) = at else { return edit.as_text() };
        let has_place = self.originals.contains_key(&at);
        if self.deleted.contains(&at) {
            // What was taken back is shown once.
            return if has_place {
                String::new()
            } else {
                DELETED.to_owned()
            };
        }
        if self.takes_its_place(edit, at) {
            return String::new();
        }
        self.unquoted(edit)
    }

    fn text_of_original(&self, message: &Message) -> String {
        let Some(at) = target(message, message.provider_message_id.as_ref()) else {
            return self.unquoted(message);
        };
        if self.deleted.contains(&at) {
            return DELETED.to_owned();
        }
        match self.edited.get(&at) {
            Some((_, content)) => self.unquoted(&Message {
                content: Content::clone(content),
                ..message.clone()
            }),
            None => self.unquoted(message),
        }
    }

    /// The message in words, without repeating what it quotes if that was taken back.
    fn unquoted(&self, message: &Message) -> String {
        let words = self.words(message);
        if side(message) && words.trim().is_empty() {
            return EMPTY.to_owned();
        }
        words
    }

    fn words(&self, message: &Message) -> String {
        let quoted = message.context.reply_to.as_ref();
        let id = quoted.and_then(|quoted| quoted.id.as_deref());
        let gone = id.is_some_and(|id| {
            [true, false]
                .iter()
                .any(|side| self.deleted.contains(&(*side, id)))
        });
        if !gone {
            return message.as_text();
        }
        let mut message = message.clone();
        message.context.reply_to = None;
        message.as_text()
    }
}
