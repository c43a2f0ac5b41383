//! The conversation as the model reads it.

mod revised;

use crate::ports::{ChatTurn, Speaker};
use jiff::Timestamp;
use recado_domain::ids::Ordinal;
use recado_domain::message::{Message, Role};
use recado_domain::outbox::OutboxState;
use revised::Revised;

/// Orders `messages` as they were written by the provider's clock, with what is to be answered (`answered` to `covers`)
/// last, and joins what one side said in a row: models want speakers to alternate, the contact first and last. What the
/// contact never got is left out, what was taken back is not repeated, and what was edited before it was answered is read as
/// it is now.
pub(super) fn transcript(messages: &[Message], answered: Ordinal, covers: Ordinal) -> Vec<ChatTurn> {
    let owed = |m: &&Message| m.role == Role::User && m.ordinal > answered && m.ordinal <= covers;
    let before = |m: &&Message| !(m.role == Role::User && m.ordinal > answered);
    let mut past: Vec<&Message> = messages
        .iter()
        .filter(before)
        .filter(|m| reached_contact(m))
        .collect();
    let mut present: Vec<&Message> = messages.iter().filter(owed).collect();
    for part in [&mut past, &mut present] {
        part.sort_by_key(|message| (said_at(message, messages), message.ordinal));
    }
    let revised = Revised::of(messages, answered, covers);
    let mut turns: Vec<ChatTurn> = Vec::new();
    for message in past.into_iter().chain(present) {
        let speaker = if message.role == Role::User {
            Speaker::User
        } else {
            Speaker::Assistant
        };
        let text = revised.text(message);
        match turns.last_mut() {
            _ if text.trim().is_empty() => {}
            Some(last) if last.speaker == speaker => {
                last.text.push('\n');
                last.text.push_str(&text);
            }
            None if speaker == Speaker::Assistant => {}
            _ => turns.push(ChatTurn { speaker, text }),
        }
    }
    turns
}

/// When it was said, for the order. A reply comes after everything it answers, by whoever's clocks: a question that stood
/// behind its answer would be answered again.
fn said_at(message: &Message, messages: &[Message]) -> Timestamp {
    let Some(out) = &message.out else {
        return message.written_at;
    };
    let answers = |m: &&Message| m.role == Role::User && m.ordinal <= out.covers;
    let questions = messages.iter().filter(answers);
    questions
        .map(|question| question.written_at)
        .fold(message.written_at, Timestamp::max)
}

fn reached_contact(message: &Message) -> bool {
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
