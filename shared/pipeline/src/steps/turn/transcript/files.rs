//! Adds the files of messages to the transcript: those that the model sees, the texts of others, and what is missing.

use recado_domain::file_text::render_file_text;
use recado_domain::ids::Ordinal;
use recado_domain::media_type::MediaType;
use recado_domain::message::{FoundText, Message, Role, StoredFile};
use recado_domain::model_files::{FileOmission, FileRefusal};
use recado_ports::ports::ChatFile;
use std::collections::BTreeMap;

/// A file that the model sees: its type and its bytes, or the reason why they are left out.
pub(crate) type ShownFile = (MediaType, Result<Vec<u8>, FileOmission>);

/// The files that the model sees in one turn, by the ordinals of their messages.
pub(crate) type ShownFiles = BTreeMap<Ordinal, ShownFile>;

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
