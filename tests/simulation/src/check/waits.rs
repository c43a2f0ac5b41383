//! What comes in takes effect soon while nothing goes wrong, whatever becomes of others' messages.

use super::Told;
use crate::queue::WorkQueues;
use crate::stage::Stage;
use futures::executor::block_on;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::EventKind;
use recado_domain::ids::{EventId, MessageId};
use recado_domain::message::Message;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// How soon, in milliseconds: a running send of the same contact is waited for until its lease is over, 35 s.
const SOON_MS: i64 = 60_000;

pub(super) fn check<S, Q>(stage: &Stage<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    if !is_undisturbed(stage) {
        return;
    }
    let ledger = stage.ledger();
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
        let witness = stage.common.witness();
        let (enqueued, stored) = (witness.enqueued.get(&event), witness.stored.get(&event));
        if let (Some(enqueued), Some(stored)) = (enqueued, stored)
            && stored - enqueued > SOON_MS
        {
            let late = stored - enqueued;
            drop(witness);
            stage.common.broken(format!(
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
        failures(stage, &unknown, message);
    }
}

/// No function was disturbed, no queue was slow, and no webhook ended its reader.
fn is_undisturbed<S, Q>(stage: &Stage<S, Q>) -> bool {
    let faults = stage.common.counters().faults();
    let is_slow = |queue| stage.common.faults.slow.is_some_and(|slow| slow.queue == queue);
    let poisoned = stage.ledger().said.values().any(|said| said.text == "poison");
    faults == 0 && !poisoned && stage.common.faults.freeze.is_none() && !is_slow(QueueName::Inbound)
}

/// Whether the outcome of an attempt at it was unknown.
fn was_unknown(message: &Message) -> bool {
    let steps = message.out.iter().flat_map(|out| &out.history);
    steps.into_iter().any(|step| step.what == "unknown")
}

/// A failure takes effect soon unless an outcome of its own contact's is unknown: of whoever has no number that may be.
fn failures<S, Q>(stage: &Stage<S, Q>, unknown: &[&Message], message: &Message)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let id: MessageId = message.id();
    let may_be_of_contact = |other: &&Message| {
        let to = other.to().zip(message.to());
        other.instance == message.instance && to.is_some_and(|(to, own)| to.may_be(own))
    };
    if unknown.iter().any(may_be_of_contact) {
        return;
    }
    for event in stage.outside.failures(&id) {
        let record = block_on(stage.store.event(&event)).expect("events are read");
        let Some(record) = record.filter(|record| record.job.kind == EventKind::Failed) else {
            continue;
        };
        let late = record
            .settled_at
            .map(|at| at.as_millisecond() - record.job.received_at.as_millisecond());
        if late.is_some_and(|late| late > SOON_MS) {
            stage.common.broken(format!(
                "the failure of {id} took effect {late:?} ms after it came"
            ));
        }
    }
}
