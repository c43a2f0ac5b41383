//! What was acknowledged is stored once, or dead with its letter.

use super::Told;
use crate::queue::WorkQueues;
use crate::stage::Stage;
use futures::executor::block_on;
use recado_domain::event::EventState;
use recado_domain::ids::EventId;
use recado_domain::reason::Reason;
use recado_pipeline::ports::Store;
use std::collections::BTreeSet;
use std::fmt::Debug;

pub(super) fn check<S, Q>(stage: &Stage<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let mut stored = BTreeSet::new();
    for message in told.iter().flat_map(|(_, messages)| messages) {
        if let Some(event) = &message.event
            && !stored.insert(event.clone())
        {
            stage.common.broken(format!(
                "event {event} is stored twice, again as {}",
                message.message_id()
            ));
        }
    }
    statuses(stage);
    let acknowledged = stage.ledger().acknowledged.clone();
    for id in &acknowledged {
        came_to_its_end(stage, id);
        if is_a_message(stage, id) && !stored.contains(id) && !has_letter(stage, id) {
            stage
                .common
                .broken(format!("event {id} was acknowledged, and no message has it"));
        }
    }
}

/// A status whose webhook was acknowledged stands in its delivery's record.
fn statuses<S, Q>(stage: &Stage<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let statuses = stage.ledger().statuses.clone();
    for update in statuses {
        let delivery = block_on(stage.store.find_delivery(&update.key)).expect("deliveries are read");
        let reached = delivery
            .map(|delivery| delivery.times.reached_statuses())
            .unwrap_or_default();
        if !reached.iter().any(|(status, _)| *status == update.status) {
            stage.common.broken(format!(
                "the status {update:?} was acknowledged and is not recorded"
            ));
        }
    }
}

/// Its record says that it is applied, or dead with its letter.
fn came_to_its_end<S, Q>(stage: &Stage<S, Q>, id: &EventId)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let record = block_on(stage.store.find_event(id)).expect("events are read");
    let of_poison = record
        .as_ref()
        .is_some_and(|record| record.reason == Some(Reason::Poison));
    let said = stage.ledger().said.get(id).map(|spoken| spoken.text.clone());
    // A process that dies by chance, or stalls until it is cut off, costs the event at which it was an attempt.
    let counters = stage.common.counters();
    let by_chance = counters.crashes > 0 || counters.stalls > 0;
    if of_poison && !by_chance && said.as_deref() != Some("poison") {
        stage
            .common
            .broken(format!("event {id} died of poison and is none"));
    }
    match record.map(|record| record.state) {
        Some(EventState::Applied) => {}
        Some(EventState::Dead) if has_letter(stage, id) => {}
        Some(EventState::Dead) => stage
            .common
            .broken(format!("event {id} is dead without a letter")),
        state => stage
            .common
            .broken(format!("event {id} was acknowledged and is {state:?}")),
    }
}

/// Whether somebody wrote it: the contact, or a person on the phone. An echo of what was sent is no message.
fn is_a_message<S, Q>(stage: &Stage<S, Q>, id: &EventId) -> bool {
    let ledger = stage.ledger();
    let Some(spoken) = ledger.said.get(id) else {
        return false;
    };
    // What changes a message that nobody has is nothing, unless the contact says something new by it.
    let witness = stage.common.witness();
    let known = |original| witness.stored.get(original) < witness.received.get(id).map(|(first, _)| first);
    match &spoken.changes {
        Some(original) => witness.stored.contains_key(original) && known(original),
        None => !spoken.from_me || ledger.typed.contains(&spoken.text),
    }
}

fn has_letter<S, Q>(stage: &Stage<S, Q>, id: &EventId) -> bool
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let letter = block_on(stage.store.find_dead_letter(id.as_str())).expect("letters are read");
    letter.is_some()
}
