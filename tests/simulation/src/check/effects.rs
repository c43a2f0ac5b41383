//! What an agent's tool does happens once for each wish, a reply says that it is done only if it is, and every entry ends.

use super::Told;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use recado_domain::effects::EffectState;
use recado_domain::tools::ToolOutcome;
use recado_pipeline::ports::Store;
use std::collections::BTreeSet;
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let wishes = sim.fake_world.booked_wishes();
    let single: BTreeSet<&String> = wishes.iter().collect();
    if single.len() < wishes.len() {
        sim.common.broken(format!("a wish has two events: {wishes:?}"));
    }
    let events = sim.fake_world.booked_ids();
    let threads: BTreeSet<_> = told
        .iter()
        .map(|(conversation, _)| conversation.id.thread_id())
        .collect();
    for thread in threads {
        let journal = block_on(sim.store.find_journal(thread)).expect("journals are read");
        for entry in journal.iter().flat_map(|journal| &journal.entries) {
            let happened = events.contains(&entry.id);
            let (number, state) = (entry.number, entry.state.as_str());
            if happened != (entry.state == EffectState::Done) {
                sim.common
                    .broken(format!("effect {number} is {state}, and its event: {happened}"));
            }
        }
    }
    let confirmed = told.iter().flat_map(|(_, messages)| messages).filter(|message| {
        let turn = message.out.as_ref().and_then(|out| out.turn.as_ref());
        turn.is_some_and(|turn| {
            turn.tools
                .iter()
                .any(|call| call.outcome == ToolOutcome::Answered)
        })
    });
    if confirmed.count() > wishes.len() {
        sim.common
            .broken("a reply confirms what did not happen".to_owned());
    }
}
