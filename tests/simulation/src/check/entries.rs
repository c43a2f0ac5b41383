//! Agents that are replaced, and removed and made again: no model is shown the prompt of another tenant or of before, and no agent gets
//! the documents of the one that had its name.

use crate::queue::WorkQueues;
use crate::simulator::{LINGERS_MS, Simulator};
use futures::executor::block_on;
use recado_domain::access::Caller;
use recado_domain::ids::AgentId;
use recado_pipeline::knowledge::list_sources;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// How old the configuration may be that a turn works with, in milliseconds, where nothing is disturbed.
const READ_MS: i64 = 5_000;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    prompts(sim);
    let removed = sim.ledger().entries.removed.clone();
    for (agent, at_ms) in &removed {
        documents(sim, agent, *at_ms);
    }
}

/// Each model was shown a prompt of its own tenant that was not replaced long before.
fn prompts<S, Q>(sim: &Simulator<S, Q>) {
    let given = sim.ledger().entries.prompts.clone();
    let late_ms = if sim.common.counters().faults() == 0 {
        READ_MS
    } else {
        LINGERS_MS
    };
    for shown in sim.fake_world.shown() {
        let of_it = given.iter().filter(|given| shown.system.contains(&given.prompt));
        for prompt in of_it {
            let is_own = shown
                .tenant
                .as_ref()
                .is_none_or(|tenant| *tenant == prompt.tenant);
            // A request that nobody waits for may bring an earlier prompt back.
            let may_return = sim.common.faults.disturb();
            let is_present = prompt
                .over_ms
                .is_none_or(|over_ms| shown.read_ms <= over_ms + late_ms);
            if !is_own || !(is_present || may_return) {
                sim.common.broken(format!(
                    "a model was shown `{}` at {} for {:?}",
                    prompt.prompt, shown.read_ms, shown.tenant
                ));
            }
        }
    }
}

/// An agent that was removed and made again lists no document whose words were read before the removal.
fn documents<S, Q>(sim: &Simulator<S, Q>, agent: &AgentId, removed_ms: i64)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (deps, caller) = (sim.calm_deps(), Caller::installation());
    let listed = block_on(list_sources(&deps, &caller, agent));
    let titles = listed.map(|listed| listed.sources).unwrap_or_default();
    let given = sim.ledger().entries.documents.clone();
    for source in titles {
        let of_it = given
            .iter()
            .filter(|given| given.agent == *agent && given.title == source.title);
        for words in of_it.map(|given| &given.words) {
            let read_ms = sim.fake_world.embedded_ms(words);
            if read_ms.is_some_and(|read_ms| read_ms < removed_ms) {
                sim.common.broken(format!(
                    "{agent} has `{}` of the agent that had its name",
                    source.title
                ));
            }
        }
    }
}
