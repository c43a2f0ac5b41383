//! Chooses the messages that a turn reads: the oldest that are owed an answer, then the newest of the others, within
//! the limits.

use jiff::Timestamp;
use recado_domain::content::Content;
use recado_domain::context::QUOTED_MAX;
use recado_domain::ids::Ordinal;
use recado_domain::message::{Message, Role};
use recado_domain::outbox::OutboxState;
use recado_ports::settings::TurnReadLimits;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The text that is shown in place of a deleted message.
pub const DELETED: &str = "[message deleted]";

/// Greatest number of characters of a quotation with the words around it.
const QUOTE_ROOM: usize = QUOTED_MAX + 100;

/// Returns `true` if the message is the contact's and expects an answer.
pub fn wants_answer(message: &Message) -> bool {
    message.role == Role::User && message.unanswered.is_none() && message.content.expects_answer()
}

/// The messages that a turn reads, and those that its reply answers.
#[derive(Debug)]
pub struct TurnReading {
    /// The known messages of the conversation, ordered by ordinal.
    known: Vec<Message>,
    /// Ordinals of the messages that are read.
    chosen: BTreeSet<Ordinal>,
    /// Ordinals of those among them that are owed an answer.
    owed: BTreeSet<Ordinal>,
    /// The person's other conversations, whose messages are read as history.
    linked: Vec<TurnReading>,
    /// The ordinal up to which messages were answered before this turn.
    pub answered: Ordinal,
    /// The ordinal up to which every message that expects an answer is read.
    pub covers: Ordinal,
    /// Maximum number of characters that are read of one message.
    pub message_chars: usize,
    /// Maximum number of messages that are read.
    messages: usize,
    /// Maximum number of characters that are read of all messages and of the texts of their files together.
    transcript_chars: usize,
}

/// The rest of the limits while messages are chosen.
struct ReadBudget {
    messages: usize,
    chars: usize,
    message_chars: usize,
}

impl ReadBudget {
    /// Subtracts the message from the limits, or returns `false` if it does not fit. The first message always fits,
    /// because its text is cut.
    fn take_message(&mut self, message: &Message, first: bool) -> bool {
        let needs = count_characters(message, self.message_chars);
        if self.messages == 0 || (needs > self.chars && !first) {
            return false;
        }
        self.messages -= 1;
        self.chars = self.chars.saturating_sub(needs);
        true
    }
}

impl TurnReading {
    /// Chooses from `known`, which is ordered by ordinal, the messages that a turn reads. The turn owes an answer to
    /// the messages after `answered`, up to `upto`.
    pub fn choose_messages(
        answered: Ordinal,
        upto: Ordinal,
        known: Vec<Message>,
        bounds: &TurnReadLimits,
    ) -> Self {
        let message_chars = bounds.message_chars.min(bounds.transcript_chars);
        let mut room = ReadBudget {
            messages: bounds.messages.max(1),
            chars: bounds.transcript_chars,
            message_chars,
        };
        let mut chosen = BTreeSet::new();
        let reach = upto.min(contiguous_end(&known, answered));
        let owed = known.iter().filter(|message| {
            message.ordinal > answered && message.ordinal <= reach && wants_answer(message)
        });
        for message in owed {
            if !room.take_message(message, chosen.is_empty()) {
                break;
            }
            chosen.insert(message.ordinal);
        }
        let covers = chosen.last().copied().unwrap_or(reach);
        let mut reading = Self {
            known,
            owed: chosen,
            chosen: BTreeSet::new(),
            linked: Vec::new(),
            answered,
            covers,
            message_chars,
            messages: bounds.messages.max(1),
            transcript_chars: bounds.transcript_chars,
        };
        reading.choose_history();
        reading
    }

    /// Reads the messages of another conversation of the person up to `answered`, as far as an answer follows them there.
    /// The model would answer what seems to be open, and the turn of the other conversation answers that.
    pub fn from_linked_conversation(answered: Ordinal, mut known: Vec<Message>, own: &Self) -> Self {
        let answers: Vec<Message> = known
            .iter()
            .filter(|message| message.role != Role::User && reached_contact(message))
            .cloned()
            .collect();
        known.retain(|message| {
            let is_answered = || answers.iter().any(|answer| follows(answer, message));
            let is_deletion = matches!(message.content, Content::Deletion { .. });
            message.role != Role::User || is_deletion || (message.ordinal <= answered && is_answered())
        });
        Self {
            known,
            chosen: BTreeSet::new(),
            owed: BTreeSet::new(),
            linked: Vec::new(),
            answered,
            covers: answered,
            ..*own
        }
    }

    /// Reads the histories of the person's other conversations together with this one's.
    pub fn link_histories(&mut self, linked: Vec<Self>) {
        self.linked = linked;
        self.choose_history();
    }

    /// Chooses the newest of the other messages, as far as the limits leave room. Messages that are owed an answer come before
    /// them. Messages of several conversations are chosen by time.
    fn choose_history(&mut self) {
        let mut room = ReadBudget {
            messages: self.messages,
            chars: self.transcript_chars,
            message_chars: self.message_chars,
        };
        for message in self
            .known
            .iter()
            .filter(|message| self.owed.contains(&message.ordinal))
        {
            room.take_message(message, true);
        }
        let parts = self.conversations();
        let mut parts: Vec<_> = parts.map(|part| part.list_history().peekable()).collect();
        let mut chosen = vec![BTreeSet::new(); parts.len()];
        loop {
            let heads = parts.iter_mut().enumerate();
            let newest = heads.filter_map(|(number, part)| Some((part.peek()?.written_at, Reverse(number))));
            let Some((_, Reverse(number))) = newest.max() else {
                break;
            };
            let message = parts.get_mut(number).and_then(Iterator::next);
            let Some(message) = message.filter(|message| room.take_message(message, false)) else {
                break;
            };
            if let Some(chosen) = chosen.get_mut(number) {
                chosen.insert(message.ordinal);
            }
        }
        drop(parts);
        let mut chosen = chosen.into_iter();
        self.chosen = chosen.next().unwrap_or_default();
        self.chosen.extend(&self.owed);
        for (part, chosen) in self.linked.iter_mut().zip(chosen) {
            part.chosen = chosen;
        }
    }

    /// Lists the messages that may be read beside those that are owed an answer, the newest first.
    fn list_history(&self) -> impl Iterator<Item = &Message> {
        self.known.iter().rev().filter(|message| {
            !self.owed.contains(&message.ordinal)
                && (message.role != Role::User || message.ordinal <= self.covers)
                && reached_contact(message)
        })
    }

    /// Returns the conversation of the turn, then the person's others that are read with it.
    pub fn conversations(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.linked)
    }

    /// Lists the messages that are read, in the order of the transcript, each with the number of its conversation.
    pub fn order_messages(&self) -> Vec<(usize, &Message)> {
        let mut ordered = Vec::new();
        for (number, part) in self.conversations().enumerate() {
            for message in part.chosen_messages() {
                let is_owed = number == 0 && self.is_owed_message(message);
                let is_later = message.role == Role::User && message.ordinal > part.answered;
                if is_owed || (!is_later && reached_contact(message)) {
                    let at = part.order_timestamp(message);
                    ordered.push(((is_owed, at, Reverse(number), message.ordinal), message));
                }
            }
        }
        ordered.sort_by_key(|(key, _)| *key);
        let number = |((_, _, Reverse(number), _), message)| (number, message);
        ordered.into_iter().map(number).collect()
    }

    /// Returns the time by which a message is ordered. A reply is ordered after everything that it answers, even if clocks
    /// differ: a question that stood behind its answer would be answered again.
    fn order_timestamp(&self, message: &Message) -> Timestamp {
        let Some(out) = &message.out else {
            return message.written_at;
        };
        let answers = |m: &&Message| m.role == Role::User && m.ordinal <= out.covers;
        let questions = self.known.iter().filter(answers);
        questions
            .map(|question| question.written_at)
            .fold(message.written_at, Timestamp::max)
    }

    /// Returns the number of characters that the messages that are read leave to the texts of their files.
    pub fn find_room_for_files(&self) -> usize {
        let chosen = self.conversations().flat_map(Self::chosen_messages);
        let own: usize = chosen
            .map(|message| count_own_characters(message, self.message_chars))
            .sum();
        self.transcript_chars.saturating_sub(own)
    }

    /// Replaces messages by their present records. The texts of their files take room from older messages.
    pub fn replace_messages(&mut self, changed: Vec<Message>) {
        for message in changed {
            let same = |known: &&mut Message| known.ordinal == message.ordinal;
            if let Some(known) = self.known.iter_mut().find(same) {
                *known = message;
            }
        }
        self.choose_history();
    }

    /// Returns all known messages, read or not.
    pub fn known_messages(&self) -> &[Message] {
        &self.known
    }

    /// Returns the messages that are read, ordered by ordinal.
    pub fn chosen_messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.known
            .iter()
            .filter(|message| self.chosen.contains(&message.ordinal))
    }

    /// Returns the messages that are read and that the reply answers.
    pub fn owed_messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.chosen_messages()
            .filter(|message| self.is_owed_message(message))
    }

    /// Returns `true` if `message` is the contact's and is answered by this turn, not before.
    pub fn is_owed_message(&self, message: &Message) -> bool {
        message.role == Role::User && message.ordinal > self.answered && message.ordinal <= self.covers
    }
}

/// Returns the ordinal up to which every message after `answered` is known.
fn contiguous_end(known: &[Message], answered: Ordinal) -> Ordinal {
    let beyond = known.iter().filter(|message| message.ordinal > answered);
    beyond.fold(answered, |reach, message| {
        if message.ordinal == reach.next_ordinal() {
            message.ordinal
        } else {
            reach
        }
    })
}

/// Returns the maximum number of characters that a message adds to the transcript. The text of its file counts, the marks of
/// cuts do not.
fn count_characters(message: &Message, max: usize) -> usize {
    let found = message.file.as_ref().and_then(|file| file.found_text());
    let of_file = found.map_or(0, |found| found.text.chars().take(max).count());
    count_own_characters(message, max) + of_file
}

/// Returns the same without the text of the message's file.
fn count_own_characters(message: &Message, max: usize) -> usize {
    // A provider may tell of a quoted message nothing but its id: its words come from the store.
    let is_quoting = message.role == Role::User && message.context.reply_to.is_some();
    let quoted = if is_quoting { QUOTE_ROOM } else { 0 };
    let characters = message.render_text().chars().count() + quoted;
    characters.min(max).max(DELETED.len()) + 1
}

/// Returns `true` if `answer` stands behind `message` of the same conversation, whatever the clocks say.
fn follows(answer: &Message, message: &Message) -> bool {
    let covers = answer.out.as_ref().map_or(Ordinal(0), |out| out.covers);
    let is_later = answer.ordinal > message.ordinal && answer.written_at >= message.written_at;
    covers >= message.ordinal || is_later
}

/// Returns `true` if the contact has the message or may have it. The contact's own messages count.
pub fn reached_contact(message: &Message) -> bool {
    message.out.as_ref().is_none_or(|out| {
        out.maybe_sent
            || !matches!(
                out.state,
                OutboxState::Dead { .. } | OutboxState::Cancelled { .. }
            )
    })
}

#[cfg(test)]
mod tests;
