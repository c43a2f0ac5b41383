//! Applies later edits and deletions to the messages that the model reads.

use super::super::reading::{DELETED, TurnReading};
use recado_domain::content::Content;
use recado_domain::ids::Ordinal;
use recado_domain::message::{Message, Role};
use std::collections::{BTreeMap, BTreeSet};

/// The text that is shown in place of a contact's message without text. Such a message is owed an answer as any other.
const EMPTY: &str = "[empty message]";

/// A reference to a message: `true` if the contact wrote it, and its id at the provider.
type RevisionTarget<'a> = (bool, &'a str);

/// The edits and deletions of the messages that a turn reads. Each side can change only its own messages.
pub(super) struct Revisions<'a> {
    originals: BTreeMap<RevisionTarget<'a>, &'a Message>,
    deleted: BTreeSet<RevisionTarget<'a>>,
    /// The newest edit, with its content, of each message that had not been answered when it was edited.
    edited: BTreeMap<RevisionTarget<'a>, (&'a Message, &'a Content)>,
    our_ordinals: Vec<Ordinal>,
    answered: Ordinal,
}

fn is_from_contact(message: &Message) -> bool {
    message.role == Role::User
}

fn revision_target<'a>(message: &Message, id: Option<&'a String>) -> Option<RevisionTarget<'a>> {
    id.map(|id| (is_from_contact(message), id.as_str()))
}

impl<'a> Revisions<'a> {
    /// Collects the edits among the messages that are read, and the deletions among all known messages. An edit counts
    /// when it is read and answered itself. A deletion counts at once, so that deleted text is not repeated.
    pub(super) fn from_reading(reading: &'a TurnReading) -> Self {
        let known = reading.known_messages();
        let mut revised = Self {
            originals: BTreeMap::new(),
            deleted: BTreeSet::new(),
            edited: BTreeMap::new(),
            our_ordinals: known
                .iter()
                .filter(|message| !is_from_contact(message))
                .map(|message| message.ordinal)
                .collect(),
            answered: reading.answered,
        };
        for message in known {
            if let Content::Deletion { target: id } = &message.content {
                revised.deleted.extend(revision_target(message, id.as_ref()));
            }
        }
        for message in reading.chosen_messages() {
            if !matches!(message.content, Content::Deletion { .. } | Content::Edit { .. }) {
                let own = revision_target(message, message.provider_message_id.as_ref());
                revised.originals.extend(own.map(|own| (own, message)));
            }
        }
        for edit in reading.chosen_messages() {
            revised.record_edit(edit);
        }
        revised
    }

    fn record_edit(&mut self, edit: &'a Message) {
        let Content::Edit { target: id, content } = &edit.content else {
            return;
        };
        let Some(at) = revision_target(edit, id.as_ref()).filter(|at| self.replaces_original(edit, *at))
        else {
            return;
        };
        let newest = self.edited.entry(at).or_insert((edit, content));
        if (edit.written_at, edit.ordinal) > (newest.0.written_at, newest.0.ordinal) {
            *newest = (edit, content);
        }
    }

    /// Returns `true` if the edited text is shown in place of the original. The original must be among the messages
    /// that are read, and, if it is the contact's, nobody had answered it before the edit.
    fn replaces_original(&self, edit: &Message, at: RevisionTarget<'_>) -> bool {
        let Some(original) = self.originals.get(&at) else {
            return false;
        };
        if !is_from_contact(edit) {
            return true;
        }
        let between = |said: &Ordinal| (original.ordinal..edit.ordinal).contains(said);
        let was_answered = original.ordinal <= self.answered && self.answered < edit.ordinal;
        !was_answered && !self.our_ordinals.iter().any(between)
    }

    /// Returns the text that the model reads for a message; empty if the message adds nothing.
    pub(super) fn visible_text(&self, message: &Message) -> String {
        match &message.content {
            Content::Deletion { .. } => String::new(),
            Content::Edit { target: id, .. } => {
                self.text_of_edit(message, revision_target(message, id.as_ref()))
            }
            _ => self.text_of_original(message),
        }
    }

    fn text_of_edit(&self, edit: &Message, at: Option<RevisionTarget<'_>>) -> String {
        let Some(at) = at else { return edit.render_text() };
        let has_place = self.originals.contains_key(&at);
        if self.deleted.contains(&at) {
            // A deleted message is shown as deleted only once.
            return if has_place {
                String::new()
            } else {
                DELETED.to_owned()
            };
        }
        if self.replaces_original(edit, at) {
            return String::new();
        }
        self.text_or_placeholder(edit)
    }

    fn text_of_original(&self, message: &Message) -> String {
        let Some(at) = revision_target(message, message.provider_message_id.as_ref()) else {
            return self.text_or_placeholder(message);
        };
        if self.deleted.contains(&at) {
            return DELETED.to_owned();
        }
        match self.edited.get(&at) {
            Some((_, content)) => self.text_or_placeholder(&Message {
                content: Content::clone(content),
                context: message.context.without_choice(),
                ..message.clone()
            }),
            None => self.text_or_placeholder(message),
        }
    }

    /// Returns the message as text, without the quoted message if that was deleted. A contact's message without text
    /// gives a placeholder.
    fn text_or_placeholder(&self, message: &Message) -> String {
        let words = self.text_without_deleted_quote(message);
        if is_from_contact(message) && words.trim().is_empty() {
            return EMPTY.to_owned();
        }
        words
    }

    fn text_without_deleted_quote(&self, message: &Message) -> String {
        let quoted = message.context.reply_to.as_ref();
        let id = quoted.and_then(|quoted| quoted.id.as_deref());
        let gone = id.is_some_and(|id| {
            [true, false]
                .iter()
                .any(|side| self.deleted.contains(&(*side, id)))
        });
        if !gone {
            return message.render_text();
        }
        let mut message = message.clone();
        message.context.reply_to = None;
        message.render_text()
    }
}
