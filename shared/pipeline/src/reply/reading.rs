//! What a turn reads: of what is owed the oldest, as much as the bounds hold, and before it what was said last.

use super::transcript::{characters, reached_contact};
use crate::World;
use crate::ports::{Conversations, PortResult};
use crate::settings::TurnReads;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::message::{Message, Role};
use std::collections::BTreeSet;

/// How often a conversation is read again of which half of a change was seen.
const TRIES: usize = 3;

/// How many messages one further read brings.
const PAGE: usize = 100;

/// What was found of a conversation.
#[derive(Debug)]
pub(super) enum Found {
    /// It does not exist.
    Nothing,
    /// The record and the messages were of different moments, each time.
    Torn,
    /// The record, and its newest messages by ordinal.
    Whole(Box<Conversation>, Vec<Message>),
}

/// Reads the conversation and its newest messages, of one moment: a reader may see a transaction's record before its
/// message, and a message that was not seen must not count as read.
pub(super) async fn newest<W: World>(world: &W, id: &ConversationId) -> PortResult<Found> {
    let limit = world.settings().turn_reads.messages;
    for _ in 0..TRIES {
        let Some((conversation, messages)) = world.store().with_history(id, limit).await? else {
            return Ok(Found::Nothing);
        };
        if is_whole(&messages, conversation.last) {
            return Ok(Found::Whole(Box::new(conversation), messages));
        }
        tracing::warn!(
            last = conversation.last.0,
            "half of a change was read: reading again"
        );
    }
    Ok(Found::Torn)
}

/// Whether these messages follow one another up to `last`.
fn is_whole(messages: &[Message], last: Ordinal) -> bool {
    let newest = messages.last().map(|message| message.ordinal);
    newest == Some(last)
        && messages
            .windows(2)
            .all(|pair| pair[1].ordinal == pair[0].ordinal.next())
}

/// Adds what is owed and older than the `newest` messages, as far as one turn can read it.
pub(super) async fn older<W: World>(
    world: &W,
    conversation: &Conversation,
    newest: Vec<Message>,
) -> PortResult<Vec<Message>> {
    let from = newest.first().map_or(conversation.last, |oldest| oldest.ordinal);
    let mut known = Vec::new();
    let (mut after, mut owed) = (conversation.answered, 0);
    while after.next() < from && owed < world.settings().turn_reads.messages {
        let page = world
            .store()
            .messages_after(&conversation.id, after, PAGE)
            .await?;
        let Some(last) = page.last() else { break };
        after = last.ordinal;
        owed += page.iter().filter(|message| wants_answer(message)).count();
        known.extend(page.into_iter().filter(|message| message.ordinal < from));
    }
    known.extend(newest);
    Ok(known)
}

fn wants_answer(message: &Message) -> bool {
    message.role == Role::User && message.unanswered.is_none() && message.content.wants_answer()
}

/// What a turn reads.
#[derive(Debug)]
pub(super) struct Reading {
    /// What is known of the conversation, by ordinal.
    known: Vec<Message>,
    /// What of it is read.
    chosen: BTreeSet<Ordinal>,
    /// Up to where it was answered before.
    pub(super) answered: Ordinal,
    /// Up to where everything that wants an answer is read.
    pub(super) covers: Ordinal,
    /// How much of one message is read, in characters.
    pub(super) message_chars: usize,
}

/// What is left of the bounds.
struct Room {
    messages: usize,
    chars: usize,
    message_chars: usize,
}

impl Room {
    /// Takes the room that a message needs, if it is there. The first always finds room: it is cut to it.
    fn take(&mut self, message: &Message, first: bool) -> bool {
        let needs = characters(message, self.message_chars);
        if self.messages == 0 || (needs > self.chars && !first) {
            return false;
        }
        self.messages -= 1;
        self.chars = self.chars.saturating_sub(needs);
        true
    }
}

impl Reading {
    /// Chooses of `known`, by ordinal, what a turn reads that owes an answer to what lies behind `answered`, up to `upto`.
    pub(super) fn of(answered: Ordinal, upto: Ordinal, known: Vec<Message>, bounds: &TurnReads) -> Self {
        let message_chars = bounds.message_chars.min(bounds.transcript_chars);
        let mut room = Room {
            messages: bounds.messages.max(1),
            chars: bounds.transcript_chars,
            message_chars,
        };
        let mut chosen = BTreeSet::new();
        let reach = upto.min(reach(&known, answered));
        let owed = known.iter().filter(|message| {
            message.ordinal > answered && message.ordinal <= reach && wants_answer(message)
        });
        for message in owed {
            if !room.take(message, chosen.is_empty()) {
                break;
            }
            chosen.insert(message.ordinal);
        }
        let covers = chosen.last().copied().unwrap_or(reach);
        let around = known.iter().rev().filter(|message| {
            !chosen.contains(&message.ordinal)
                && (message.role != Role::User || message.ordinal <= covers)
                && reached_contact(message)
        });
        let mut history = Vec::new();
        for message in around {
            if !room.take(message, false) {
                break;
            }
            history.push(message.ordinal);
        }
        chosen.extend(history);
        Self {
            known,
            chosen,
            answered,
            covers,
            message_chars,
        }
    }

    /// What is known, read or not.
    pub(super) fn known(&self) -> &[Message] {
        &self.known
    }

    /// What is read, by ordinal.
    pub(super) fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.known
            .iter()
            .filter(|message| self.chosen.contains(&message.ordinal))
    }

    /// Of that, what the reply answers.
    pub(super) fn owed(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages().filter(|message| self.is_owed(message))
    }

    /// Whether a message of the contact is answered by this turn and not before.
    pub(super) fn is_owed(&self, message: &Message) -> bool {
        message.role == Role::User && message.ordinal > self.answered && message.ordinal <= self.covers
    }
}

/// Up to where every message from `answered` on is known.
fn reach(known: &[Message], answered: Ordinal) -> Ordinal {
    let beyond = known.iter().filter(|message| message.ordinal > answered);
    beyond.fold(answered, |reach, message| {
        if message.ordinal == reach.next() {
            message.ordinal
        } else {
            reach
        }
    })
}

#[cfg(test)]
mod tests;
