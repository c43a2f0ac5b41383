//! Builds the transcript, which is the conversation as the model reads it.

mod files;
mod revisions;

use super::reading::{DELETED, TurnReading, count_own_characters, reached_contact};
use crate::ports::{ChatTurn, Speaker};
pub(super) use files::ShownFiles;
use files::TranscriptFiles;
use jiff::Timestamp;
use recado_domain::message::{Message, Role};
use revisions::Revisions;

/// Builds the transcript from the messages that a turn reads. Messages are ordered by the provider's clock, and the
/// messages to be answered come last. Consecutive messages of one side are joined: models want speakers to alternate,
/// the contact first and last. Messages that the contact never got are left out. A person's messages are marked. Deleted text is not repeated, a
/// message that was edited before it was answered shows its new text, and text that is too long is cut, with a mark. Files stand
/// with their messages: those in `shown` as they are, others as text.
pub(super) fn build_transcript(reading: &TurnReading, shown: ShownFiles) -> Vec<ChatTurn> {
    let owed = |m: &&Message| reading.is_owed_message(m);
    let before = |m: &&Message| !(m.role == Role::User && m.ordinal > reading.answered);
    let mut past: Vec<&Message> = reading
        .chosen_messages()
        .filter(before)
        .filter(|m| reached_contact(m))
        .collect();
    let mut present: Vec<&Message> = reading.chosen_messages().filter(owed).collect();
    for part in [&mut past, &mut present] {
        part.sort_by_key(|message| {
            (
                order_timestamp(message, reading.known_messages()),
                message.ordinal,
            )
        });
    }
    let revised = Revisions::from_reading(reading);
    let (each, all) = (reading.message_chars, reading.transcript_chars);
    let own = reading
        .chosen_messages()
        .map(|message| count_own_characters(message, each));
    let room = all.saturating_sub(own.sum());
    let mut files = TranscriptFiles::share_room(reading.chosen_messages(), shown, each, room);
    let mut turns: Vec<ChatTurn> = Vec::new();
    for message in past.into_iter().chain(present) {
        let speaker = if message.role == Role::User {
            Speaker::User
        } else {
            Speaker::Assistant
        };
        let text = shorten_text(revised.visible_text(message), reading.message_chars);
        let mut text = mark_person(message, text);
        let says_nothing = text.trim().is_empty() || text == DELETED;
        let file = (!says_nothing).then(|| files.append_file(message, &mut text));
        match turns.last_mut() {
            _ if text.trim().is_empty() => continue,
            Some(last) if last.speaker == speaker => {
                last.text.push('\n');
                last.text.push_str(&text);
            }
            None if speaker == Speaker::Assistant => continue,
            _ => turns.push(ChatTurn::from_text(speaker, text)),
        }
        if let Some(last) = turns.last_mut() {
            last.files.extend(file.flatten());
        }
    }
    if turns.last().is_none_or(|last| last.speaker == Speaker::Assistant) {
        // Everything that is owed was deleted, and is shown as deleted in its earlier place.
        turns.push(ChatTurn::from_text(Speaker::User, DELETED));
    }
    turns
}

/// The mark of messages that a person of the business wrote.
const PERSON_MARK: &str = "[person]";

/// Instructions for a model that reads messages of a person.
pub(super) const PERSON_INSTRUCTIONS: &str = "In this conversation, messages that begin with [person] were written by a \
    colleague of yours, a person of the team. Go on from what they said, and keep what they promised. Do not greet the contact \
    again. Never write [person] yourself.";

/// Returns `true` if a turn reads a message that a person of the business wrote.
pub(super) fn reads_person(reading: &TurnReading) -> bool {
    let mut chosen = reading.chosen_messages();
    chosen.any(|message| message.role == Role::Operator && reached_contact(message))
}

/// Returns a model's text without the mark of a person's message, which it may have repeated, and without white space
/// around.
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
