//! Nothing is left of a contact that was erased: of what it wrote before, of the replies to that, and of what was ordered.

use super::Told;
use crate::person::phone;
use crate::queue::WorkQueues;
use crate::simulator::{Erasure, Simulator, Spoken};
use futures::executor::block_on;
use recado_domain::ids::EventId;
use recado_pipeline::ports::Store;
use recado_pipeline::records::dead_letters::find_dead_letter;
use recado_pipeline::records::scheduled_messages::list_pending_scheduled;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (erasures, said) = {
        let ledger = sim.ledger();
        (ledger.erased.clone(), ledger.said.clone())
    };
    for erasure in &erasures {
        if erasure.told_ms.is_none() {
            sim.common.broken(format!(
                "the erasure of {} was never confirmed",
                erasure.contact.as_str()
            ));
            continue;
        }
        // What was acknowledged after the request is a later message, whenever it was written.
        let theirs: BTreeMap<&EventId, &Spoken> = said
            .iter()
            .filter(|(event, _)| erasure.known.contains(*event))
            .filter(|(_, spoken)| spoken.address == erasure.contact.as_str())
            .collect();
        let mut left = messages_left(sim, told, erasure, &theirs);
        left.extend(events_left(sim, erasure, &theirs));
        let instance = &sim.bounds[0].instance;
        let pending = list_pending_scheduled(&sim.store, &instance.tenant, &instance.id);
        let pending = block_on(pending).expect("scheduled messages are read");
        let pending = pending.into_iter().map(|found| found.record.id.to_string());
        left.extend(pending.filter(|id| erasure.accepted.contains(id)));
        if !left.is_empty() {
            sim.common
                .broken(format!("{left:?} are left of a contact that was erased"));
        }
    }
}

/// The messages that are of what was erased, or say something of it.
fn messages_left<S, Q>(
    sim: &Simulator<S, Q>,
    told: &[Told],
    erasure: &Erasure,
    theirs: &BTreeMap<&EventId, &Spoken>,
) -> Vec<String>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    // (A reply may say the same as always. One that says more names what it answers.)
    let of_contact = theirs.values().filter(|spoken| !spoken.from_me);
    let mut words: BTreeSet<String> = of_contact.map(|spoken| spoken.text.clone()).collect();
    let accepted = |id: &String| erasure.accepted.contains(id);
    let orders = sim.ledger().orders.clone();
    let ordered = orders.into_iter().filter(|order| {
        let is_known = order.accepted.as_ref().is_some_and(accepted);
        is_known && order.to == erasure.contact
    });
    words.extend(ordered.map(|order| order.text));
    told.iter()
        .filter(|(conversation, _)| phone(&conversation.address) == erasure.contact)
        .flat_map(|(_, messages)| messages)
        .filter(|message| {
            let is_theirs = message
                .event
                .as_ref()
                .is_some_and(|event| theirs.contains_key(event));
            let text = message.content.render_text();
            is_theirs || text.split_whitespace().any(|word| words.contains(word))
        })
        .map(|message| message.message_id().to_string())
        .collect()
}

/// The events whose body is stored, or that have a dead letter.
fn events_left<S, Q>(
    sim: &Simulator<S, Q>,
    erasure: &Erasure,
    theirs: &BTreeMap<&EventId, &Spoken>,
) -> Vec<String>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let is_left = |event: &EventId| {
        let record = block_on(sim.store.find_event(event)).expect("events are read");
        let letter = block_on(find_dead_letter(&sim.store, event.as_str())).expect("letters are read");
        let body = record.map(|record| format!("{:?}", record.job.payload));
        letter.is_some() || body.is_some_and(|body| body.contains(erasure.contact.as_str()))
    };
    theirs
        .keys()
        .filter(|event| is_left(event))
        .map(ToString::to_string)
        .collect()
}
