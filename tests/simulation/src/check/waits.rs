//! What comes in takes effect soon while nothing goes wrong, whatever becomes of others' messages.

use super::Told as Conversations;
use crate::executor::START_MS;
use crate::fake_world::traits;
use crate::observations::Told;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use recado_domain::event::EventKind;
use recado_domain::ids::{EventId, MessageId};
use recado_domain::message::Message;
use recado_domain::millis::to_millis;
use recado_domain::outbox::OutboxState;
use recado_pipeline::ports::Store;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// How soon, in milliseconds: a running send of the same contact is waited for until its lease is over, 35 s.
const SOON_MS: i64 = 60_000;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Conversations])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    patience(sim, told);
    if !is_undisturbed(sim) {
        return;
    }
    retries(sim, told);
    let ledger = sim.ledger();
    let typed: Vec<EventId> = ledger
        .said
        .iter()
        .filter(|(event, said)| {
            said.from_me && ledger.typed.contains(&said.text) && ledger.acknowledged.contains(*event)
        })
        .map(|(event, _)| event.clone())
        .collect();
    drop(ledger);
    for event in typed {
        let observations = sim.common.observations();
        let (enqueued, stored) = (observations.enqueued.get(&event), observations.stored.get(&event));
        if let (Some(enqueued), Some(stored)) = (enqueued, stored)
            && stored - enqueued > SOON_MS
        {
            let late = stored - enqueued;
            drop(observations);
            sim.common.broken(format!(
                "words on the phone took effect {late} ms after they came: {event}"
            ));
        }
    }
    let unknown: Vec<&Message> = told
        .iter()
        .flat_map(|(_, messages)| messages)
        .filter(|message| was_unknown(message))
        .collect();
    for message in told.iter().flat_map(|(_, messages)| messages) {
        failures(sim, &unknown, message);
    }
}

/// No function was disturbed or cut off, no queue was slow, and no webhook ended its reader.
pub(super) fn is_undisturbed<S, Q>(sim: &Simulator<S, Q>) -> bool {
    let (counters, faults) = (sim.common.counters(), &sim.common.faults);
    let poisoned = sim.ledger().said.values().any(|said| said.text == "poison");
    let stands = faults.freeze.is_some() || faults.slow.is_some();
    counters.faults() + counters.cut_off == 0 && !poisoned && !stands
}

/// What part of the longest wait may pass until somebody looks, of 72 hours two, and some minutes more.
const LOOKED_AT: i64 = 36;
const LOOKED_AT_MS: i64 = 180_000;

/// Nothing waits for longer than messages wait: neither before its first attempt, nor between two.
fn patience<S, Q>(sim: &Simulator<S, Q>, told: &[Conversations])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let patience = to_millis(sim.settings.parked_max);
    let patience = patience + patience / LOOKED_AT + LOOKED_AT_MS;
    let by_message = sim.common.observations().by_message();
    for message in told.iter().flat_map(|(_, messages)| messages) {
        let (id, Some(out)) = (message.message_id(), &message.out) else {
            continue;
        };
        let committed = sim.common.observations().committed.get(&id).copied();
        let (Some(committed), false) = (committed, super::sends::redriven(sim, &id)) else {
            continue;
        };
        let attempts = by_message.get(&id).into_iter().flatten();
        let ended = match out.state {
            OutboxState::Sent { at } | OutboxState::Dead { at, .. } | OutboxState::Cancelled { at, .. } => {
                Some(at.as_millisecond() - START_MS)
            }
            _ => None,
        };
        let mut last = committed;
        for at in attempts.map(|attempt| attempt.claimed_ms).chain(ended) {
            if at - last > patience {
                let waited = at - last;
                sim.common.broken(format!("{id} waited for {waited} ms"));
            }
            last = at;
        }
    }
}

/// How late a retry may be in milliseconds while nothing is broken: a queue counts whole seconds, a function needs some time.
const LATE_MS: i64 = 5_000;

/// The same for what waits for more than a quarter of an hour: `reconcile` looks every minute.
const PARKED_LATE_MS: i64 = 70_000;

/// For how long, in milliseconds, an attempt that did not reach its provider, or of which nothing is known, may have closed
/// its line.
const CLOSED_MS: i64 = 900_000;

/// A retry comes soon after its wait is over, unless its line was in trouble.
fn retries<S, Q>(sim: &Simulator<S, Q>, told: &[Conversations])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let by_message = sim.common.observations().by_message();
    // What belongs to a batch may be stopped meanwhile. Invitations may be held back, and wait otherwise.
    let is_stoppable = |message: &&Message| {
        let mut out = message.out.iter();
        out.any(|out| out.batch.is_some() || out.invitation.is_some())
    };
    let all = told.iter().flat_map(|(_, messages)| messages);
    for message in all.filter(|message| !is_stoppable(message)) {
        let id = message.message_id();
        let Some(attempts) = by_message.get(&id) else {
            continue;
        };
        for pair in attempts.windows(2) {
            let (Some((at, _)), Told::Later(after)) = (pair[0].told, pair[0].ending()) else {
                continue;
            };
            let wait = after.max(backoff_most_ms(pair[0].number));
            let late = pair[1].claimed_ms - at - wait;
            let from_ms = at - CLOSED_MS;
            let allowed = allowed_ms(sim, message, (at, pair[1].claimed_ms))
                + if wait > PARKED_AFTER_MS {
                    PARKED_LATE_MS
                } else {
                    LATE_MS
                };
            if late > allowed && is_sound(sim, told, message, (from_ms, pair[1].claimed_ms)) {
                sim.common
                    .broken(format!("{id} was tried again {late} ms after its wait was over"));
            }
        }
    }
}

/// The longest wait after attempt `number`, in milliseconds: 2, 4, 8 … 60 seconds, and half of that.
fn backoff_most_ms(number: u32) -> i64 {
    let plain = 2_000i64.saturating_mul(1 << number.saturating_sub(1).min(10));
    plain.min(60_000) * 3 / 2
}

/// What waits for longer than this in milliseconds does so beside the queue.
const PARKED_AFTER_MS: i64 = 900_000;

/// How long the rate may hold a message back between two instants, by what left then.
fn allowed_ms<S, Q>(sim: &Simulator<S, Q>, message: &Message, (from_ms, to_ms): (i64, i64)) -> i64 {
    let bound = sim
        .bounds
        .iter()
        .find(|bound| bound.instance.id == message.instance);
    let Some(bound) = bound else { return i64::MAX };
    let rate = bound
        .instance
        .resolve_rate(&traits(bound.instance.provider), sim.settings.rate);
    let requests = sim.fake_world.line(&bound.instance.id, |line| {
        let then = line.requests.iter().filter(|at| (from_ms..=to_ms).contains(*at));
        then.count()
    });
    let requests = i64::try_from(requests.unwrap_or_default()).unwrap_or(i64::MAX);
    requests.saturating_mul(to_millis(rate.interval()))
}

/// Whether nothing kept the message's line from sending between two instants, and nobody redrove anything of its contact's.
fn is_sound<S, Q>(
    sim: &Simulator<S, Q>,
    told: &[Conversations],
    message: &Message,
    (from_ms, to_ms): (i64, i64),
) -> bool
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let instance = &message.instance;
    let could_send = sim
        .fake_world
        .line(instance, |line| line.could_send(from_ms, to_ms));
    let all = || told.iter().flat_map(|(_, messages)| messages);
    let of_line: BTreeSet<MessageId> = all()
        .filter(|other| other.instance == *instance)
        .map(Message::message_id)
        .collect();
    let attempts = sim.common.observations().attempts.clone();
    let troubled = attempts.iter().any(|attempt| {
        of_line.contains(&attempt.message)
            && (from_ms..=to_ms).contains(&attempt.claimed_ms)
            && matches!(attempt.ending(), Told::Nothing | Told::NotReached)
    });
    let mut of_contact =
        all().filter(|other| other.conversation.thread_id() == message.conversation.thread_id());
    could_send == Some(true)
        && !troubled
        && !of_contact.any(|other| super::sends::redriven(sim, &other.message_id()))
}

/// Whether the outcome of an attempt at it was unknown.
fn was_unknown(message: &Message) -> bool {
    let steps = message.out.iter().flat_map(|out| &out.history);
    steps.into_iter().any(|step| step.what == "unknown")
}

/// A failure takes effect soon unless an outcome of its own contact's is unknown: of whoever has no number that may be.
fn failures<S, Q>(sim: &Simulator<S, Q>, unknown: &[&Message], message: &Message)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let id: MessageId = message.message_id();
    let may_be_of_contact = |other: &&Message| {
        let to = other.recipient().zip(message.recipient());
        other.instance == message.instance && to.is_some_and(|(to, own)| to.may_be_same_person(own))
    };
    if unknown.iter().any(may_be_of_contact) {
        return;
    }
    for event in sim.fake_world.failures(&id) {
        let record = block_on(sim.store.find_event(&event)).expect("events are read");
        let Some(record) = record.filter(|record| record.job.kind == EventKind::Failed) else {
            continue;
        };
        let late = record
            .settled_at
            .map(|at| at.as_millisecond() - record.job.received_at.as_millisecond());
        if late.is_some_and(|late| late > SOON_MS) {
            sim.common.broken(format!(
                "the failure of {id} took effect {late:?} ms after it came"
            ));
        }
    }
}
