//! One conversation in a transcript: its messages as later edits and deletions left them, and their files. These are the files that the
//! model sees, the texts of others, and what is missing.

use crate::steps::message_target::is_same_message;
use crate::steps::turn::reading::{DELETED, TurnReading};
use recado_domain::content::Content;
use recado_domain::context::{QuotedMessage, render_claimed_quote, render_quote};
use recado_domain::file_text::{disarm_labels, disarm_marks, render_file_text};
use recado_domain::ids::Ordinal;
use recado_domain::media_type::MediaType;
use recado_domain::message::{FoundText, Message, Role, StoredFile};
use recado_domain::model_files::{FileOmission, FileRefusal};
use recado_ports::ports::ChatFile;
use std::collections::{BTreeMap, BTreeSet};

/// A conversation whose messages a turn reads, while the transcript is built.
pub(super) struct TranscriptPart<'a> {
    revised: Revisions<'a>,
    pub(super) files: TranscriptFiles,
}

impl TranscriptPart<'_> {
    /// Returns the text of a message without its file, cut after `max` characters, with a mark if there were more.
    pub(super) fn own_text(&self, message: &Message, max: usize) -> String {
        let text = shorten_text(self.revised.visible_text(message), max);
        // A contact writes no mark of a file or of knowledge, and no label: its labels were changed before ours were added.
        if is_from_contact(message) {
            disarm_marks(&text)
        } else {
            text
        }
    }
}

/// Lists the conversation of the turn, then the person's others. They share `room` for the texts of files.
pub(super) fn list_parts(
    reading: &TurnReading,
    shown: ShownFiles,
    mut room: usize,
) -> Vec<TranscriptPart<'_>> {
    let mut shown = Some(shown);
    let part = |part| {
        let shown = shown.take().unwrap_or_default();
        let each = reading.message_chars;
        TranscriptPart {
            revised: Revisions::from_reading(part),
            files: TranscriptFiles::share_room(part.chosen_messages(), shown, each, &mut room),
        }
    };
    reading.conversations().map(part).collect()
}

/// Cuts a text after `max` characters, and adds a mark if there were more.
fn shorten_text(text: String, max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max) else {
        return text;
    };
    let all = text.chars().count();
    format!("{}… [cut: the first {max} of {all} characters]", &text[..end])
}

/// The text that is shown in place of a contact's message without text. Such a message is owed an answer as any other.
pub(super) const EMPTY: &str = "[empty message]";

/// A reference to a message: `true` if the contact wrote it, and its id at the provider.
type RevisionTarget<'a> = (bool, &'a str);

/// The edits and deletions of the messages that a turn reads. Each side can change only its own messages.
pub(super) struct Revisions<'a> {
    originals: BTreeMap<RevisionTarget<'a>, &'a Message>,
    deleted: BTreeSet<RevisionTarget<'a>>,
    /// The newest edit, with its content, of each message that had not been answered when it was edited.
    edited: BTreeMap<RevisionTarget<'a>, (&'a Message, &'a Content)>,
    /// All known messages, by their id at the provider.
    known: BTreeMap<&'a str, &'a Message>,
    our_ordinals: Vec<Ordinal>,
    answered: Ordinal,
}

fn is_from_contact(message: &Message) -> bool {
    message.role == Role::User
}

/// Returns a message under its id at the provider. An edit or a deletion has no words of its own to quote.
fn named_by_provider(message: &Message) -> Option<(&str, &Message)> {
    let is_change = matches!(message.content, Content::Deletion { .. } | Content::Edit { .. });
    let id = message.provider_message_id.as_deref().filter(|_| !is_change)?;
    Some((id, message))
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
            known: known.iter().filter_map(named_by_provider).collect(),
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
        // The earlier text is all that is known of the message.
        if edit.content.is_unreadable() {
            return false;
        }
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
        let Some(at) = at else {
            return self.text_or_placeholder(edit);
        };
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

    /// Returns the message as text. A contact's message without text gives a placeholder.
    fn text_or_placeholder(&self, message: &Message) -> String {
        if !is_from_contact(message) {
            return self.text_of_business(message);
        }
        let words = disarm_labels(&render_unquoting(message));
        let words = match self.quote_of(message) {
            Some(quote) => format!("{quote} {words}").trim_end().to_owned(),
            None => words,
        };
        if words.trim().is_empty() {
            return EMPTY.to_owned();
        }
        words
    }

    /// Returns a message of the business as text. Its quotation is our own record; a deleted one is left out.
    fn text_of_business(&self, message: &Message) -> String {
        if self.is_quote_deleted(message) {
            return render_unquoting(message);
        }
        message.render_text()
    }

    fn is_quote_deleted(&self, message: &Message) -> bool {
        let quoted = message.context.reply_to.as_ref();
        let id = quoted.and_then(|quoted| quoted.id.as_deref());
        id.is_some_and(|id| {
            [true, false]
                .iter()
                .any(|side| self.deleted.contains(&(*side, id)))
        })
    }

    /// Finds the quoted message among those that are known.
    fn find_quoted(&self, quoted: &QuotedMessage) -> Option<&'a Message> {
        let id = quoted.id.as_deref()?;
        let equal = self.known.get(id);
        let same = || self.known.iter().find(|(known, _)| is_same_message(known, id));
        equal.or_else(|| same().map(|(_, message)| message)).copied()
    }

    /// Returns the quotation that stands before a contact's message. It is read from the stored message; where that is not at hand, it
    /// says that only the contact's side tells the words. `None`: nothing is quoted, or it was deleted.
    fn quote_of(&self, message: &Message) -> Option<String> {
        let quoted = message.context.reply_to.as_ref()?;
        if self.is_quote_deleted(message) {
            return None;
        }
        match (self.find_quoted(quoted), &quoted.text) {
            (Some(known), _) => Some(render_quote(&known.present_content().render_text())),
            // Its words were read from the stored message when the reply came.
            (None, Some(stored)) if quoted.message.is_some() => Some(render_quote(stored)),
            (None, Some(claimed)) => Some(render_claimed_quote(claimed)),
            (None, None) => None,
        }
    }
}

/// Renders a message without the one that it replies to.
fn render_unquoting(message: &Message) -> String {
    let unquoting = Message {
        context: message.context.without_quote(),
        ..message.clone()
    };
    unquoting.render_text()
}

/// A file that the model sees: its type and its bytes, or the reason why they are left out.
pub(crate) type ShownFile = (MediaType, Result<Vec<u8>, FileOmission>);

/// The files that the model sees in one turn, by the ordinals of their messages.
pub type ShownFiles = BTreeMap<Ordinal, ShownFile>;

/// The files of the messages that a turn reads, while the transcript is built.
pub(super) struct TranscriptFiles {
    shown: ShownFiles,
    /// Number of characters that are read of each file's text.
    chars: BTreeMap<Ordinal, usize>,
    labels: usize,
}

impl TranscriptFiles {
    /// Shares the room for texts among the files of `messages`, the newest first. `each` is the maximum number of
    /// characters of one text, `room` of all together; what is left stays in it.
    pub(super) fn share_room<'a>(
        messages: impl DoubleEndedIterator<Item = &'a Message>,
        shown: ShownFiles,
        each: usize,
        room: &mut usize,
    ) -> Self {
        let mut chars = BTreeMap::new();
        for message in messages.rev() {
            let Some(found) = find_text(message) else { continue };
            let takes = found.text.chars().take(each).count();
            if takes > *room {
                // An older text is not read where a newer one was left out.
                *room = 0;
                continue;
            }
            *room -= takes;
            chars.insert(message.ordinal, each);
        }
        Self {
            shown,
            chars,
            labels: 0,
        }
    }

    /// Adds what the model reads of the message's file to the message's text. Returns the file if the model sees it.
    pub(super) fn append_file(&mut self, message: &Message, text: &mut String) -> Option<ChatFile> {
        let media = message.content.media_file();
        if message.role == Role::User && media.is_some_and(|media| media.view_once) {
            append_note(text, VIEW_ONCE);
            return None;
        }
        let file = message.file.as_ref()?;
        if let Some((media_type, content)) = self.shown.remove(&message.ordinal) {
            self.labels += 1;
            let label = format!("[file {}]", self.labels);
            text.push(' ');
            text.push_str(&label);
            return Some(ChatFile {
                ordinal: message.ordinal,
                name: media.and_then(|media| media.file_name.clone()),
                label,
                media_type,
                content,
            });
        }
        if let Some(found) = find_text(message) {
            self.append_text(message, found, text);
        } else if message.role == Role::User {
            // What is visible and not shown belongs to another conversation.
            let is_visible =
                |stored: &StoredFile| MediaType::from_visible_mime_type(&stored.mime_type).is_some();
            let omission = if file.stored().is_some_and(is_visible) {
                FileOmission::Older
            } else {
                FileOmission::OtherType
            };
            let refused = file.find_file_refusal().map(FileRefusal::describe_refusal);
            let note = refused
                .or(file.describe_gap())
                .unwrap_or(omission.describe_omission());
            append_note(text, note);
        }
        None
    }

    fn append_text(&self, message: &Message, found: &FoundText, text: &mut String) {
        let (Some(media), Some(chars)) = (
            message.content.media_file(),
            self.chars.get(&message.ordinal).copied(),
        ) else {
            return append_note(text, FileOmission::Older.describe_omission());
        };
        if found.text.trim().is_empty() {
            return append_note(text, found.source.describe_emptiness());
        }
        let end = found.text.char_indices().nth(chars).map(|(end, _)| end);
        let visible = &found.text[..end.unwrap_or(found.text.len())];
        let is_cut = found.is_cut || end.is_some();
        let name = media.file_name.as_deref();
        text.push('\n');
        text.push_str(&render_file_text(
            media.media,
            name,
            found.source,
            visible,
            is_cut,
        ));
    }
}

/// Note in place of a file that is never fetched, because it may be looked at only once.
const VIEW_ONCE: &str = "not shown: the file may be looked at only once";

fn find_text(message: &Message) -> Option<&FoundText> {
    message.file.as_ref()?.found_text()
}

fn append_note(text: &mut String, note: &str) {
    text.push_str(" (");
    text.push_str(note);
    text.push(')');
}
