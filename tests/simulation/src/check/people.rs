//! What people did holds: their answers are kept, and who has a conversation is as they asked.

use super::Told;
use super::answers::{Wants, wants};
use crate::queue::WorkQueues;
use crate::stage::{Stage, Wish};
use recado_domain::conversation::{Conversation, Mode, Status};
use recado_domain::message::{Message, Role};
use recado_pipeline::ports::Store;
use std::fmt::Debug;

pub(super) fn check<S, Q>(stage: &Stage<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    answers(stage, told);
    for (conversation, messages) in told {
        outranked(stage, conversation, messages);
        if conversation.status != Status::Active {
            continue;
        }
        let (id, changes) = (&conversation.id, changes(stage, conversation, messages));
        if conversation.mode == Mode::Manual && !changes.may_be_manual() {
            stage
                .common
                .broken(format!("{id} is people's, and nobody took it over"));
        }
        if conversation.mode == Mode::Ai && changes.must_be_manual() {
            stage
                .common
                .broken(format!("{id} was taken over, and the agent has it"));
        }
    }
}

/// Nothing of the agent's was claimed while a person certainly had the conversation.
fn outranked<S, Q>(stage: &Stage<S, Q>, conversation: &Conversation, messages: &[Message]) {
    let changes = changes(stage, conversation, messages);
    if changes.taken.is_empty() {
        return;
    }
    let attempts = stage.common.witness().attempts.clone();
    for attempt in attempts.iter().filter(|attempt| attempt.by_ai) {
        let of_it = messages.iter().any(|message| message.id() == attempt.message);
        if of_it && changes.are_peoples_at(attempt.claimed_ms) {
            stage
                .common
                .broken(format!("{} was claimed after a takeover", attempt.message));
        }
    }
}

/// Whether people saw to `message`, or have the conversation that it is in.
pub(super) fn see_to<S, Q>(stage: &Stage<S, Q>, (conversation, messages): &Told, message: &Message) -> bool {
    let seen = |ordinal| ordinal >= message.ordinal;
    let ended = conversation.status == Status::Resolved
        && stage.ledger().resolved_upto(&conversation.id).is_some_and(seen);
    let of_people = messages.iter().filter(|other| other.role == Role::Operator);
    let mut answers = of_people.filter(|other| answered(stage, other, message));
    ended || answers.next().is_some() || {
        let changes = changes(stage, conversation, messages);
        conversation.status == Status::Active && conversation.mode == Mode::Manual && changes.may_be_manual()
    }
}

/// Whether `answer` is of a person who had read `message`.
fn answered<S, Q>(stage: &Stage<S, Q>, answer: &Message, message: &Message) -> bool {
    let (ledger, words) = (stage.ledger(), answer.content.as_text());
    if answer.out.is_some() {
        let mut acts = ledger.acts_on(&answer.conversation);
        return acts.any(
            |act| matches!(&act.wish, Wish::Answer(text, seen) if *text == words && *seen >= message.ordinal),
        );
    }
    let sent_at = |message: &Message| {
        let spoken = ledger.said.get(message.event.as_ref()?)?;
        spoken.sent_at
    };
    let typed = ledger.typed.contains(&words);
    typed && answer.ordinal > message.ordinal && sent_at(answer) >= sent_at(message)
}

/// A person's answer that was granted is one message; any other is one at most.
fn answers<S, Q>(stage: &Stage<S, Q>, told: &[Told]) {
    let acts = stage.ledger().acts.clone();
    for act in acts {
        let Wish::Answer(text, _) = &act.wish else {
            continue;
        };
        let all = told.iter().flat_map(|(_, messages)| messages);
        let count = all
            .filter(|message| message.role == Role::Operator && message.content.as_text() == *text)
            .count();
        if count > 1 || (act.told == Some(true) && count == 0) {
            stage
                .common
                .broken(format!("the answer {text:?} of a person is stored {count} times"));
        }
    }
}

/// When a change of who has a conversation may have taken effect, in milliseconds since the start.
#[derive(Debug, Clone, Copy)]
struct Change {
    from_ms: i64,
    to_ms: i64,
    /// Whether it certainly did.
    certain: bool,
}

/// How a conversation went to people and back.
#[derive(Debug, Default)]
struct Changes {
    taken: Vec<Change>,
    given_back: Vec<Change>,
}

impl Changes {
    /// Whether it may be people's: one of them took it, and nobody certainly gave it back after that.
    fn may_be_manual(&self) -> bool {
        let certain = self.given_back.iter().filter(|back| back.certain);
        let last_back = certain.map(|back| back.from_ms).max();
        self.taken.iter().any(|taken| Some(taken.to_ms) >= last_back)
    }

    /// Whether it certainly was at that time: it had been taken, and nobody can have given it back since.
    fn are_peoples_at(&self, at_ms: i64) -> bool {
        let taken = self.taken.iter();
        let mut before = taken.filter(|taken| taken.certain && taken.to_ms < at_ms);
        before.any(|taken| {
            let mut backs = self.given_back.iter();
            !backs.any(|back| back.from_ms <= at_ms && back.to_ms >= taken.from_ms)
        })
    }

    /// Whether it must be: one of them certainly took it, and nobody can have given it back after that.
    fn must_be_manual(&self) -> bool {
        let last_back = self.given_back.iter().map(|back| back.to_ms).max();
        let mut certain = self.taken.iter().filter(|taken| taken.certain);
        certain.any(|taken| Some(taken.from_ms) > last_back)
    }
}

fn changes<S, Q>(stage: &Stage<S, Q>, conversation: &Conversation, messages: &[Message]) -> Changes {
    let mut changes = Changes::default();
    for act in stage
        .ledger()
        .acts_on(&conversation.id)
        .filter(|act| act.may_be_done())
    {
        let change = Change {
            from_ms: act.begun_ms,
            to_ms: act.over_ms,
            certain: act.told == Some(true),
        };
        if act.takes_over() {
            changes.taken.push(change);
        } else if act.wish == Wish::GiveBack {
            changes.given_back.push(change);
        }
    }
    let of_phone = messages
        .iter()
        .filter(|message| message.role == Role::Operator && message.out.is_none());
    changes
        .taken
        .extend(of_phone.filter_map(|message| typed(stage, message)));
    changes
}

/// Words on the phone take the conversation over, unless they are old.
fn typed<S, Q>(stage: &Stage<S, Q>, message: &Message) -> Option<Change> {
    let event = message.event.as_ref()?;
    if !stage.ledger().typed.contains(&message.content.as_text()) {
        return None;
    }
    let young = wants(stage, message);
    let at = *stage.common.witness().stored.get(event)?;
    (young != Wants::No).then_some(Change {
        from_ms: at,
        to_ms: at,
        certain: young == Wants::Yes,
    })
}
