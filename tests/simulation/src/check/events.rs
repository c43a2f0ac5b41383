//! What was acknowledged is stored once, or dead with its dead letter.

use super::{Told, access};
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use recado_domain::event::EventState;
use recado_domain::ids::EventId;
use recado_domain::reason::Reason;
use recado_pipeline::ports::Store;
use recado_pipeline::records::dead_letters::find_dead_letter;
use std::collections::BTreeSet;
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let mut stored = BTreeSet::new();
    for message in told.iter().flat_map(|(_, messages)| messages) {
        if let Some(event) = &message.event
            && !stored.insert(event.clone())
        {
            sim.common.broken(format!(
                "event {event} is stored twice, again as {}",
                message.message_id()
            ));
        }
    }
    statuses(sim);
    let acknowledged = sim.ledger().acknowledged.clone();
    for id in acknowledged.iter().filter(|id| !sim.ledger().may_be_erased(id)) {
        came_to_its_end(sim, id);
        let is_kept = stored.contains(id) || access::is_left_out(sim, id) || has_dead_letter(sim, id);
        if is_a_message(sim, id) && !is_kept {
            sim.common
                .broken(format!("event {id} was acknowledged, and no message has it"));
        }
    }
}

/// A status whose webhook was acknowledged stands in its delivery's record.
fn statuses<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    if !sim.ledger().erased.is_empty() {
        // Those of an erased contact's messages went with them, and a status does not say whose it is.
        return;
    }
    let statuses = sim.ledger().statuses.clone();
    for update in statuses {
        let delivery = block_on(sim.store.find_delivery(&update.key)).expect("deliveries are read");
        let reached = delivery
            .map(|delivery| delivery.times.reached_statuses())
            .unwrap_or_default();
        if !reached.iter().any(|(status, _)| *status == update.status) {
            sim.common.broken(format!(
                "the status {update:?} was acknowledged and is not recorded"
            ));
        }
    }
}

/// Its record says that it is applied, or dead with its dead letter.
fn came_to_its_end<S, Q>(sim: &Simulator<S, Q>, id: &EventId)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let record = block_on(sim.store.find_event(id)).expect("events are read");
    let of_poison = record
        .as_ref()
        .is_some_and(|record| record.reason == Some(Reason::Poison));
    let said = sim.ledger().said.get(id).map(|spoken| spoken.text.clone());
    // A process may die by chance, or stall until it is cut off. Its event loses an attempt by that.
    let counters = sim.common.counters();
    let by_chance = counters.crashes > 0 || counters.stalls > 0;
    if of_poison && !by_chance && said.as_deref() != Some("poison") {
        sim.common
            .broken(format!("event {id} died of poison and is none"));
    }
    match record.map(|record| record.state) {
        Some(EventState::Applied) => {}
        Some(EventState::Dead) if has_dead_letter(sim, id) => {}
        Some(EventState::Dead) => sim.common.broken(format!("event {id} is dead without a letter")),
        state => sim
            .common
            .broken(format!("event {id} was acknowledged and is {state:?}")),
    }
}

/// Whether somebody wrote it: the contact, or a person on the phone. An echo of what was sent is no message.
fn is_a_message<S, Q>(sim: &Simulator<S, Q>, id: &EventId) -> bool {
    let ledger = sim.ledger();
    let Some(spoken) = ledger.said.get(id) else {
        return false;
    };
    // What changes a message that nobody has is nothing, unless the contact says something new by it.
    let observations = sim.common.observations();
    let known =
        |original| observations.stored.get(original) < observations.received.get(id).map(|(first, _)| first);
    match &spoken.changes {
        Some(original) => observations.stored.contains_key(original) && known(original),
        None => !spoken.from_me || ledger.typed.contains(&spoken.text),
    }
}

fn has_dead_letter<S, Q>(sim: &Simulator<S, Q>, id: &EventId) -> bool
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let dead_letter = block_on(find_dead_letter(&sim.store, id.as_str())).expect("letters are read");
    dead_letter.is_some()
}
