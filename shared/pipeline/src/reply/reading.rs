//! What a turn reads: of what is owed the oldest, as much as the bounds hold, and before it what was said last.

use super::transcript::{count_characters, reached_contact};
use crate::Deps;
use crate::ports::{Conversations, PortResult};
use crate::settings::TurnReadLimits;
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
pub(super) enum TurnHistory {
    /// It does not exist.
    Nothing,
    /// The record and the messages were of different moments, each time.
    Torn,
    /// The record, and its newest messages by ordinal.
    Whole(Box<Conversation>, Vec<Message>),
}

/// Reads the conversation and its newest messages, of one moment: a reader may see a transaction's record before its
/// message, and a message that was not seen must not count as read.
pub(super) async fn read_newest_messages<W: Deps>(deps: &W, id: &ConversationId) -> PortResult<TurnHistory> {
    let limit = deps.settings().turn_reads.messages;
    for _ in 0..TRIES {
        let Some((conversation, messages)) = deps.store().find_with_history(id, limit).await? else {
            return Ok(TurnHistory::Nothing);
        };
        if is_contiguous(&messages, conversation.last) {
            return Ok(TurnHistory::Whole(Box::new(conversation), messages));
        }
        tracing::warn!(
            last = conversation.last.0,
            "half of a change was read: reading again"
        );
    }
    Ok(TurnHistory::Torn)
}

/// Whether these messages follow one another up to `last`.
fn is_contiguous(messages: &[Message], last: Ordinal) -> bool {
    let newest = messages.last().map(|message| message.ordinal);
    newest == Some(last)
        && messages
            .windows(2)
            .all(|pair| pair[1].ordinal == pair[0].ordinal.next_ordinal())
}

/// Adds what is owed and older than the `newest` messages, as far as one turn can read it.
pub(super) async fn read_older_messages<W: Deps>(
    deps: &W,
    conversation: &Conversation,
    newest: Vec<Message>,
) -> PortResult<Vec<Message>> {
    let from = newest.first().map_or(conversation.last, |oldest| oldest.ordinal);
    let mut known = Vec::new();
    let (mut after, mut owed) = (conversation.answered, 0);
    while after.next_ordinal() < from && owed < deps.settings().turn_reads.messages {
        let page = deps
            .store()
            .list_messages_after(&conversation.id, after, PAGE)
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
    message.role == Role::User && message.unanswered.is_none() && message.content.expects_answer()
}

/// What a turn reads.
#[derive(Debug)]
pub(super) struct TurnReading {
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
struct ReadBudget {
    messages: usize,
    chars: usize,
    message_chars: usize,
}

impl ReadBudget {
    /// Takes the room that a message needs, if it is there. The first always finds room: it is cut to it.
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
    /// Chooses of `known`, by ordinal, what a turn reads that owes an answer to what lies behind `answered`, up to `upto`.
    pub(super) fn choose_messages(
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
        let around = known.iter().rev().filter(|message| {
            !chosen.contains(&message.ordinal)
                && (message.role != Role::User || message.ordinal <= covers)
                && reached_contact(message)
        });
        let mut history = Vec::new();
        for message in around {
            if !room.take_message(message, false) {
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
    pub(super) fn known_messages(&self) -> &[Message] {
        &self.known
    }

    /// What is read, by ordinal.
    pub(super) fn chosen_messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.known
            .iter()
            .filter(|message| self.chosen.contains(&message.ordinal))
    }

    /// Of that, what the reply answers.
    pub(super) fn owed_messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.chosen_messages()
            .filter(|message| self.is_owed_message(message))
    }

    /// Whether a message of the contact is answered by this turn and not before.
    pub(super) fn is_owed_message(&self, message: &Message) -> bool {
        message.role == Role::User && message.ordinal > self.answered && message.ordinal <= self.covers
    }
}

/// Up to where every message from `answered` on is known.
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

#[cfg(test)]
mod tests;
