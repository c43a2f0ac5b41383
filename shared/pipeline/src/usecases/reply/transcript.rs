//! Builds the transcript, which is the conversation as the model reads it.

mod files;
mod revisions;

use super::reading::{DELETED, TurnReading, count_own_characters, reached_contact};
pub(super) use files::ShownFiles;
use files::TranscriptFiles;
use jiff::Timestamp;
use recado_domain::file_text::disarm_marks;
use recado_domain::message::{Message, Role};
use recado_ports::ports::{ChatFile, ChatTurn, Speaker};
use revisions::Revisions;
use std::cmp::Reverse;

/// A conversation whose messages a turn reads, while the transcript is built.
struct TranscriptPart<'a> {
    revised: Revisions<'a>,
    files: TranscriptFiles,
}

/// A message as a turn reads it.
pub(super) struct TranscriptMessage<'a> {
    pub(super) message: &'a Message,
    /// Its text with that of its file, without a mark of who wrote it.
    pub(super) text: String,
    /// Its file, if the model sees it.
    pub(super) file: Option<ChatFile>,
}

/// Lists the messages that a turn reads, in the order of the transcript. Messages that say nothing are left out.
pub(super) fn list_transcript(reading: &TurnReading, shown: ShownFiles) -> Vec<TranscriptMessage<'_>> {
    let mut parts = list_parts(reading, shown);
    let mut listed = Vec::new();
    for (number, message) in order_messages(reading) {
        let Some(part) = parts.get_mut(number) else {
            continue;
        };
        let text = shorten_text(part.revised.visible_text(message), reading.message_chars);
        // A contact writes no mark of a file or of knowledge, and no label: its labels were changed before ours were added.
        let mut text = if message.role == Role::User {
            disarm_marks(&text)
        } else {
            text
        };
        let says_nothing = text.trim().is_empty() || text == DELETED;
        let file = (!says_nothing).then(|| part.files.append_file(message, &mut text));
        if !text.trim().is_empty() {
            let file = file.flatten();
            listed.push(TranscriptMessage { message, text, file });
        }
    }
    listed
}

/// Builds the transcript from the messages that a turn reads. Messages are ordered by the provider's clock, and the
/// messages to be answered come last. Consecutive messages of one side are joined: models want speakers to alternate,
/// the contact first and last. So a note stands before what the business wrote first. Messages that the contact never got are left out. A person's messages are marked. Deleted text is not repeated, a
/// message that was edited before it was answered shows its new text, and text that is too long is cut, with a mark. Files stand
/// with their messages: those in `shown` as they are, others as text. The person's other conversations are read as one
/// history with this one.
pub(super) fn build_transcript(reading: &TurnReading, shown: ShownFiles) -> Vec<ChatTurn> {
    let mut turns: Vec<ChatTurn> = Vec::new();
    for TranscriptMessage { message, text, file } in list_transcript(reading, shown) {
        let speaker = if message.role == Role::User {
            Speaker::User
        } else {
            Speaker::Assistant
        };
        let text = mark_person(message, text);
        match turns.last_mut() {
            Some(last) if last.speaker == speaker => {
                last.text.push('\n');
                last.text.push_str(&text);
            }
            None if speaker == Speaker::Assistant => {
                turns.push(ChatTurn::from_text(Speaker::User, opening_note(reading, message)));
                turns.push(ChatTurn::from_text(speaker, text));
            }
            _ => turns.push(ChatTurn::from_text(speaker, text)),
        }
        if let Some(last) = turns.last_mut() {
            last.files.extend(file);
        }
    }
    if turns.last().is_none_or(|last| last.speaker == Speaker::Assistant) {
        // Everything that is owed was deleted, and is shown as deleted in its earlier place.
        turns.push(ChatTurn::from_text(Speaker::User, DELETED));
    }
    turns
}

/// Note of the transcript before messages of the business that nothing of the contact precedes.
const BUSINESS_FIRST: &str = "[the business wrote first]";

/// Note of the transcript before messages of the business that follow messages which are not read any more.
const CUT_BEFORE: &str = "[earlier messages are not shown]";

/// Returns the note that stands in the contact's place before `message`, a message of the business that is read first.
fn opening_note(reading: &TurnReading, message: &Message) -> &'static str {
    let mut parts = std::iter::once(reading).chain(&reading.linked);
    let known = parts.find_map(|part| {
        let known = part.known_messages();
        known
            .iter()
            .any(|other| other.ordinal == message.ordinal && other.conversation == message.conversation)
            .then_some(known)
    });
    let mut before = known
        .unwrap_or_default()
        .iter()
        .filter(|other| other.ordinal < message.ordinal);
    let is_complete = before.clone().count() as u64 + 1 == message.ordinal.0;
    if is_complete && before.all(|other| other.role != Role::User) {
        BUSINESS_FIRST
    } else {
        CUT_BEFORE
    }
}

/// Lists the conversation of the turn, then the person's others. They share the room for the texts of files.
fn list_parts(reading: &TurnReading, shown: ShownFiles) -> Vec<TranscriptPart<'_>> {
    let all = || std::iter::once(reading).chain(&reading.linked);
    let each = reading.message_chars;
    let chosen = all().flat_map(TurnReading::chosen_messages);
    let own: usize = chosen.map(|message| count_own_characters(message, each)).sum();
    let mut room = reading.transcript_chars.saturating_sub(own);
    let mut shown = Some(shown);
    let part = |part| {
        let shown = shown.take().unwrap_or_default();
        TranscriptPart {
            revised: Revisions::from_reading(part),
            files: TranscriptFiles::share_room(part.chosen_messages(), shown, each, &mut room),
        }
    };
    all().map(part).collect()
}

/// Lists the messages that are read, in the order of the transcript, each with the number of its conversation.
fn order_messages(reading: &TurnReading) -> Vec<(usize, &Message)> {
    let mut ordered = Vec::new();
    for (number, part) in std::iter::once(reading).chain(&reading.linked).enumerate() {
        for message in part.chosen_messages() {
            let is_owed = number == 0 && reading.is_owed_message(message);
            let is_later = message.role == Role::User && message.ordinal > part.answered;
            if is_owed || (!is_later && reached_contact(message)) {
                let at = order_timestamp(message, part.known_messages());
                ordered.push(((is_owed, at, Reverse(number), message.ordinal), message));
            }
        }
    }
    ordered.sort_by_key(|(key, _)| *key);
    let number = |((_, _, Reverse(number), _), message)| (number, message);
    ordered.into_iter().map(number).collect()
}

/// The mark of messages that a person of the business wrote.
const PERSON_MARK: &str = "[person]";

/// Instructions for a model that reads messages of a person.
pub(super) const PERSON_INSTRUCTIONS: &str = "In this conversation, messages that begin with [person] were written by a \
    colleague of yours, a person of the team. Go on from what they said, and keep what they promised. Do not greet the contact \
    again. Never write [person] yourself.";

/// Returns `true` if a turn reads a message that a person of the business wrote.
pub(super) fn reads_person(reading: &TurnReading) -> bool {
    let parts = std::iter::once(reading).chain(&reading.linked);
    let mut chosen = parts.flat_map(TurnReading::chosen_messages);
    chosen.any(|message| message.role == Role::Operator && reached_contact(message))
}

/// Returns a model's text without the mark of a person's message, which it may have repeated. White space around it goes, too.
pub(super) fn strip_person_mark(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix(PERSON_MARK).map_or(text, str::trim_start)
}

/// Marks the text of a person's message, so that the model does not take it for its own.
fn mark_person(message: &Message, text: String) -> String {
    if message.role == Role::Operator && !text.trim().is_empty() {
        format!("{PERSON_MARK} {text}")
    } else {
        text
    }
}

/// Cuts a text after `max` characters, and adds a mark if there were more.
fn shorten_text(text: String, max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max) else {
        return text;
    };
    let all = text.chars().count();
    format!("{}… [cut: the first {max} of {all} characters]", &text[..end])
}

/// Returns the time by which a message is ordered. A reply is ordered after everything that it answers, even if clocks
/// differ: a question that stood behind its answer would be answered again.
fn order_timestamp(message: &Message, messages: &[Message]) -> Timestamp {
    let Some(out) = &message.out else {
        return message.written_at;
    };
    let answers = |m: &&Message| m.role == Role::User && m.ordinal <= out.covers;
    let questions = messages.iter().filter(answers);
    questions
        .map(|question| question.written_at)
        .fold(message.written_at, Timestamp::max)
}

#[cfg(test)]
pub(super) mod tests;
