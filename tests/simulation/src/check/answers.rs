//! Every message that wants an answer has exactly one, or a reason.

use super::Told;
use super::people::{People, see_to};
use crate::executor::START_MS;
use crate::fake_world::Arrived;
use crate::observations::Attempt;
use crate::queue::WorkQueues;
use crate::simulator::{Act, Kind, OperatorRequest, Simulator};
use recado_domain::ids::Ordinal;
use recado_domain::message::{Message, Role};
use recado_domain::outbox::{Author, Outbox, OutboxState};
use recado_domain::reason::Reason;
use recado_pipeline::ports::Store;
use std::collections::BTreeMap;
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told], people: &People)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    for conversation in told {
        let messages = &conversation.1;
        let replies: Vec<&Message> = messages.iter().filter(|message| by_ai(message)).collect();
        for message in messages.iter().filter(|message| message.role == Role::User) {
            let covered = replies
                .iter()
                .any(|reply| counts(reply) && covers(reply) >= message.ordinal);
            let wants = wants(sim, message) == Wants::Yes;
            let silence = conversation.0.find_silence_reason(message.ordinal);
            // No turn reads a correction of spelling alone, and those after it read it as history.
            let needs_reading = wants && silence != Some(Reason::SpellingCorrection);
            if needs_reading
                && super::reading::is_covered_unread(sim, people, conversation, &replies, message)
            {
                sim.common
                    .broken(format!("{} was answered unread", message.message_id()));
            }
            let waits = super::reading::is_too_much(sim, conversation, message)
                || super::limits::is_paused(sim, conversation, message)
                || super::decisions::is_handed_over(conversation, message)
                || silence.is_some();
            if wants && !covered && !waits && !see_to(sim, people, conversation, message) {
                sim.common
                    .broken(format!("{} was never answered", message.message_id()));
            }
        }
        needed(sim, messages, &replies);
        twice(sim, &replies);
        whole(sim, &replies);
        for message in messages
            .iter()
            .filter(|message| message.role == Role::Operator && message.out.is_none())
        {
            if !was_typed(sim, message) {
                sim.common.broken(format!(
                    "{} is our own echo, taken for a person's words",
                    message.message_id()
                ));
            }
        }
    }
    named_twice(sim, told);
}

/// Whether somebody of the business wrote it on the phone, or changed there what had been sent.
fn was_typed<S, Q>(sim: &Simulator<S, Q>, message: &Message) -> bool {
    let ledger = sim.ledger();
    let spoken = message.event.as_ref().and_then(|event| ledger.said.get(event));
    spoken.is_some_and(|spoken| {
        ledger.typed.contains(&spoken.text) || (spoken.from_me && spoken.changes.is_some())
    })
}

fn by_ai(message: &Message) -> bool {
    let by_ai = message.out.as_ref().is_some_and(|out| out.author == Author::Ai);
    // That the instance is closed is no answer.
    by_ai && !super::hours::is_notice(message)
}

/// Whether an answer is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    /// It is.
    Yes,
    /// It is not: it was old when it came, or is of a kind that asks for nothing.
    No,
    /// It came just about when it became old.
    Either,
}

/// What is older than this on arrival is not answered.
const OLD_MS: i64 = 3_600_000;

/// How far the clocks of those who ask how old it is may be off.
const CLOCKS_MS: i64 = 2_500;

/// Whether an answer to `message` is due, by who wrote it and when.
pub(super) fn wants<S, Q>(sim: &Simulator<S, Q>, message: &Message) -> Wants {
    let spoken = message.event.as_ref().and_then(|event| {
        let spoken = sim.ledger().said.get(event).cloned()?;
        Some((spoken, sim.common.observations().received.get(event).copied()))
    });
    let Some((spoken, received)) = spoken else {
        sim.common
            .broken(format!("{} was written by nobody", message.message_id()));
        return Wants::No;
    };
    let age = |at_ms: i64| spoken.sent_at.map_or(0, |sent_at| START_MS + at_ms - sent_at);
    if message
        .event
        .as_ref()
        .is_some_and(|event| sim.ledger().is_taken_back(event))
    {
        // Who takes it back may be answered before, or not at all.
        return match spoken.kind {
            Kind::Words => Wants::Either,
            Kind::Reaction | Kind::Deletion => Wants::No,
        };
    }
    match (spoken.kind, received) {
        (Kind::Words, Some((_, last))) if age(last) < OLD_MS - CLOCKS_MS => Wants::Yes,
        (Kind::Words, Some((first, _))) if age(first) <= OLD_MS + CLOCKS_MS => Wants::Either,
        _ => Wants::No,
    }
}

/// Every reply that was sent covers something that an answer to was due.
fn needed<S, Q>(sim: &Simulator<S, Q>, messages: &[Message], replies: &[&Message]) {
    let mut before = Ordinal(0);
    for reply in replies {
        let covered = |message: &&Message| message.ordinal > before && message.ordinal <= covers(reply);
        let of_contact = messages.iter().filter(|message| message.role == Role::User);
        let mut due = of_contact
            .filter(covered)
            .filter(|message| wants(sim, message) != Wants::No);
        if was_sent(reply) && begins(reply) == reply.ordinal && due.next().is_none() {
            sim.common
                .broken(format!("{} answers what asked for nothing", reply.message_id()));
        }
        if was_sent(reply) && !may_be_answered_again(sim, reply) {
            before = before.max(covers(reply));
        }
    }
}

/// Whether it is the agent's error message, and people had the agent answer again.
fn may_be_answered_again<S, Q>(sim: &Simulator<S, Q>, reply: &Message) -> bool {
    let gives_back = |act: &Act| act.request == OperatorRequest::GiveBack;
    reply.unanswered == Some(Reason::ModelFailed) && sim.ledger().acts.iter().any(gives_back)
}

pub(crate) fn covers(reply: &Message) -> Ordinal {
    reply.out.as_ref().map(|out| out.covers).unwrap_or_default()
}

/// It was sent, or may have been, or there is a dead letter about it.
pub(super) fn counts(reply: &Message) -> bool {
    reply.out.as_ref().is_some_and(|out| {
        matches!(out.state, OutboxState::Sent { .. } | OutboxState::Dead { .. }) || out.maybe_sent
    })
}

fn was_sent(reply: &Message) -> bool {
    let state = reply.out.as_ref().map(|out| &out.state);
    matches!(state, Some(OutboxState::Sent { .. }))
}

/// Where the reply begins that this is, or is a part of.
fn begins(message: &Message) -> Ordinal {
    let part = message.out.as_ref().and_then(|out| out.part);
    Ordinal(
        message
            .ordinal
            .0
            .saturating_sub(part.map_or(0, |part| u64::from(part.number) - 1)),
    )
}

/// A reply of several parts was committed with all of them, in order and as one.
fn whole<S, Q>(sim: &Simulator<S, Q>, replies: &[&Message])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let key = |out: &Outbox| (out.covers, out.epoch, out.part.map(|part| part.of));
    for reply in replies {
        let Some((out, part)) = reply.out.as_ref().and_then(|out| Some((out, out.part?))) else {
            continue;
        };
        let of_it = replies.iter().filter(|other| begins(other) == begins(reply));
        let numbers: Vec<_> = of_it
            .filter_map(|other| other.out.as_ref().filter(|other| key(other) == key(out)))
            .filter_map(|out| out.part.map(|part| part.number))
            .collect();
        if numbers != (1..=part.of).collect::<Vec<_>>() {
            sim.common.broken(format!(
                "{} is one of {} parts, of which are {numbers:?}",
                reply.message_id(),
                part.of
            ));
        }
    }
}

/// Two replies that were sent cover different messages.
fn twice<S, Q>(sim: &Simulator<S, Q>, replies: &[&Message])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let sent = replies.iter().filter(|reply| was_sent(reply));
    let (mut highest, mut before) = (Ordinal(0), Ordinal(0));
    for reply in sent {
        let goes_on = begins(reply) == before;
        before = begins(reply);
        if covers(reply) <= highest && !goes_on {
            sim.common.broken(format!(
                "{} answers again what was answered up to {highest}",
                reply.message_id()
            ));
        }
        if !may_be_answered_again(sim, reply) {
            highest = highest.max(covers(reply));
        }
    }
}

/// No two messages on a phone name the same message of its owner, unless the record of the later one said before that it may have been
/// sent, or a person asked for it.
fn named_twice<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let attempts = sim.common.observations().attempts.clone();
    let overtaken = super::reading::overtaken(sim, told);
    for arrived in sim.fake_world.phones().values() {
        let mut named: BTreeMap<&str, &Attempt> = BTreeMap::new();
        let mut brought: Vec<(&Arrived, &Attempt)> = arrived
            .iter()
            .filter_map(|one| Some((one, attempts.get(one.attempt?)?)))
            .collect();
        brought.sort_by_key(|(_, attempt)| attempt.claimed_ms);
        for (one, attempt) in brought {
            let Some(names) = one.text.strip_prefix("re ") else {
                continue;
            };
            let names = names
                .split_whitespace()
                .filter(|name| name.starts_with('m') && !overtaken.contains(*name));
            for name in names {
                let before = named.insert(name, attempt);
                let is_other = |before: &&Attempt| before.message != attempt.message;
                if before
                    .filter(is_other)
                    .is_some_and(|before| !is_answered_again(sim, before, attempt))
                {
                    sim.common
                        .broken(format!("{name} was answered twice, again by {}", one.message));
                }
            }
        }
    }
}

/// Returns `true` if an attempt may answer again what `before` answered. Its record says that it may have been sent, somebody redrove
/// either message, or people gave the conversation back to the agent between the two.
fn is_answered_again<S, Q>(sim: &Simulator<S, Q>, before: &Attempt, attempt: &Attempt) -> bool {
    // A dead message had not been sent. The person who redrove it was told what had been answered meanwhile.
    let redriven = [before, attempt].map(|one| super::sends::redriven(sim, &one.message));
    let of_either = |act: &Act| {
        [before, attempt].into_iter().any(|one| {
            let conversation = one.message.conversation_and_ordinal();
            conversation.is_ok_and(|(conversation, _)| conversation == act.conversation)
        })
    };
    let gives_back = |act: &Act| {
        let is_between = act.over_ms >= before.claimed_ms && act.begun_ms <= attempt.claimed_ms;
        act.request == OperatorRequest::GiveBack && is_between && of_either(act)
    };
    attempt.marked || redriven.contains(&true) || sim.ledger().acts.iter().any(gives_back)
}
