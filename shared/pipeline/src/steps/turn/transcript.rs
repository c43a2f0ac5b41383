//! Builds the transcript, which is the conversation as the model reads it.

mod part;

use crate::steps::turn::reading::{DELETED, TurnReading};
pub use crate::steps::turn::transcript::part::ShownFiles;
use crate::steps::turn::transcript::part::{EMPTY, Revisions, list_parts};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use recado_domain::message::{Message, Role};
use recado_domain::time_words::{describe_message_time, is_message_time};
use recado_ports::ports::{ChatFile, ChatTurn, Speaker};

/// A message as a turn reads it.
#[derive(Debug)]
pub struct TranscriptMessage<'a> {
    pub message: &'a Message,
    /// Its text with that of its file, without a mark of who wrote it.
    pub text: String,
    /// Its file, if the model sees it.
    pub file: Option<ChatFile>,
}

/// Lists the messages that a turn reads, in the order of the transcript. Messages that say nothing are left out.
pub fn list_transcript(reading: &TurnReading, shown: ShownFiles) -> Vec<TranscriptMessage<'_>> {
    let (ordered, room) = (reading.order_messages(), reading.find_room_for_files());
    let mut parts = list_parts(reading, shown, room);
    let mut listed = Vec::new();
    for (number, message) in ordered {
        let Some(part) = parts.get_mut(number) else {
            continue;
        };
        let mut text = part.own_text(message, reading.message_chars);
        let file = (!says_nothing(&text)).then(|| part.files.append_file(message, &mut text));
        if !text.trim().is_empty() {
            let file = file.flatten();
            listed.push(TranscriptMessage { message, text, file });
        }
    }
    listed
}

/// Returns `true` for the text of a message that adds nothing, or was deleted.
fn says_nothing(text: &str) -> bool {
    text.trim().is_empty() || text == DELETED
}

/// Lists the messages that the reply answers, each with its words. An edited message has those of its newest edit. Messages that say
/// nothing are left out.
pub fn list_owed_words(reading: &TurnReading) -> Vec<(&Message, String)> {
    let revised = Revisions::from_reading(reading);
    let owed = reading.owed_messages();
    owed.map(|message| (message, revised.visible_text(message)))
        .filter(|(_, words)| !says_nothing(words) && words != EMPTY)
        .collect()
}

/// Builds the transcript from the messages that a turn reads. Messages are ordered by the provider's clock, and the
/// messages to be answered come last. Consecutive messages of one side are joined: models want speakers to alternate,
/// the contact first and last. So a note stands before what the business wrote first. Messages that the contact never got are left out. A person's messages are marked. Deleted text is not repeated, a
/// message that was edited before it was answered shows its new text, and text that is too long is cut, with a mark. Files stand
/// with their messages: those in `shown` as they are, others as text. The person's other conversations are read as one
/// history with this one. With `times`, a line before a message tells when it was written, where hours or days lie between it and the
/// one before it.
pub fn build_transcript(
    reading: &TurnReading,
    shown: ShownFiles,
    times: Option<MessageTimes<'_>>,
) -> Vec<ChatTurn> {
    let mut turns: Vec<ChatTurn> = Vec::new();
    // The first message is compared with the present.
    let mut before = times.map(|times| times.now);
    for TranscriptMessage { message, text, file } in list_transcript(reading, shown) {
        let speaker = if message.role == Role::User {
            Speaker::User
        } else {
            Speaker::Assistant
        };
        if turns.is_empty() && speaker == Speaker::Assistant {
            append_text(&mut turns, Speaker::User, opening_note(reading, message));
        }
        let before = before.replace(message.written_at);
        let time = times
            .zip(before)
            .and_then(|(times, before)| times.describe_time(message.written_at, before));
        if let Some(time) = time {
            // A model imitates what it reads as its own, so the contact's side holds the line wherever it can.
            let of_contact = speaker == Speaker::User || turns.last().is_some_and(is_of_contact);
            let side = if of_contact {
                Speaker::User
            } else {
                Speaker::Assistant
            };
            append_text(&mut turns, side, &time);
        }
        append_text(&mut turns, speaker, &mark_person(message, text));
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

/// The clock by which a transcript tells when messages were written.
#[derive(Debug, Clone, Copy)]
pub struct MessageTimes<'a> {
    /// The present.
    pub now: Timestamp,
    /// The zone of the instance.
    pub zone: &'a TimeZone,
}

impl MessageTimes<'_> {
    /// Returns the line that tells when a message was written; `None`: it needs none. `before`: the time of the message that stands
    /// before it. One that was written before that, as a question that stands below a notice of closing, has a line if it is not of the
    /// present.
    fn describe_time(&self, written: Timestamp, before: Timestamp) -> Option<String> {
        describe_message_time(written, before, self.zone).or_else(|| {
            let told = describe_message_time(written, self.now, self.zone);
            told.filter(|_| written < before)
        })
    }
}

fn is_of_contact(turn: &ChatTurn) -> bool {
    turn.speaker == Speaker::User
}

/// Adds a text to the last part of a transcript. If that is of the other side, the text begins a new part.
fn append_text(turns: &mut Vec<ChatTurn>, speaker: Speaker, text: &str) {
    match turns.last_mut() {
        Some(last) if last.speaker == speaker => {
            last.text.push('\n');
            last.text.push_str(text);
        }
        _ => turns.push(ChatTurn::from_text(speaker, text)),
    }
}

/// Returns `true` if a transcript tells when a message was written.
pub fn tells_times(turns: &[ChatTurn]) -> bool {
    let mut lines = turns.iter().flat_map(|turn| turn.text.lines());
    lines.any(is_message_time)
}

/// Note of the transcript before messages of the business that nothing of the contact precedes.
const BUSINESS_FIRST: &str = "[the business wrote first]";

/// Note of the transcript before messages of the business that follow messages which are not read any more.
const CUT_BEFORE: &str = "[earlier messages are not shown]";

/// Note of the transcript before messages of the business that only followed what is to be answered.
const ASKED_BELOW: &str = "[the contact wrote first; it stands below]";

/// Returns the note that stands in the contact's place before `message`, a message of the business that is read first.
fn opening_note(reading: &TurnReading, message: &Message) -> &'static str {
    let known = reading.conversations().find_map(|part| {
        let known = part.known_messages();
        known
            .iter()
            .any(|other| other.ordinal == message.ordinal && other.conversation == message.conversation)
            .then_some(known)
    });
    let before = known
        .unwrap_or_default()
        .iter()
        .filter(|other| other.ordinal < message.ordinal);
    let is_complete = before.clone().count() as u64 + 1 == message.ordinal.0;
    let mut of_contact = before.filter(|other| other.role == Role::User).peekable();
    if !is_complete {
        CUT_BEFORE
    } else if of_contact.peek().is_none() {
        BUSINESS_FIRST
    } else if of_contact.all(|other| reading.is_owed_message(other)) {
        ASKED_BELOW
    } else {
        CUT_BEFORE
    }
}

/// The mark of messages that a person of the business wrote.
const PERSON_MARK: &str = "[person]";

/// The mark of messages that another program wrote which answers the number's contacts.
const OTHER_AGENT_MARK: &str = "[other agent]";

/// Returns a model's text without the marks that it may have repeated at its begin: that of another author's message, and the
/// time of a message. White space around it goes, too.
pub fn strip_repeated_marks(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let time = text.find(']').map(|end| text.split_at(end + 1));
        let time = time.filter(|(first, _)| is_message_time(first));
        let mut marks = [PERSON_MARK, OTHER_AGENT_MARK].into_iter();
        let after_mark = marks.find_map(|mark| text.strip_prefix(mark));
        text = match (after_mark, time) {
            (Some(rest), _) | (None, Some((_, rest))) => rest.trim_start(),
            (None, None) => return text,
        };
    }
}

/// Marks the text of a person's message, so that the model does not take it for its own.
fn mark_person(message: &Message, text: String) -> String {
    if message.role != Role::Operator || text.trim().is_empty() {
        return text;
    }
    let mark = if message.context.by_other_agent {
        OTHER_AGENT_MARK
    } else {
        PERSON_MARK
    };
    format!("{mark} {text}")
}

#[cfg(test)]
pub mod tests;
