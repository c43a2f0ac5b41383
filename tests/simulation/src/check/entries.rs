//! Agents that are replaced, and removed and made again: no model is shown the prompt of another tenant or of before, and no agent gets
//! the documents of the one that had its name.

use crate::queue::WorkQueues;
use crate::simulator::{GivenDocument, LINGERS_MS, RemovedAgent, Simulator};
use futures::executor::block_on;
use recado_domain::access::Caller;
use recado_knowledge::list_sources;
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
    for one in &removed {
        documents(sim, one);
        shown_documents(sim, one);
    }
}

/// How late a turn may still work with the configuration that an operator changed, in milliseconds.
fn find_lateness<S, Q>(sim: &Simulator<S, Q>) -> i64 {
    if sim.common.counters().faults() == 0 {
        READ_MS
    } else {
        LINGERS_MS
    }
}

/// Each model was shown a prompt of its own tenant that was not replaced long before.
fn prompts<S, Q>(sim: &Simulator<S, Q>) {
    let given = sim.ledger().entries.prompts.clone();
    let late_ms = find_lateness(sim);
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

/// Lists the documents that were given to an agent and read before its removal was asked for.
fn list_documents_before<S, Q>(sim: &Simulator<S, Q>, removed: &RemovedAgent) -> Vec<GivenDocument> {
    let mut given = sim.ledger().entries.documents.clone();
    given.retain(|given| {
        let read_ms = sim.fake_world.embedded_ms(&given.words);
        given.agent == removed.agent && read_ms.is_some_and(|read_ms| read_ms < removed.asked_ms)
    });
    given
}

/// An agent that was removed and made again lists no document whose words were read before the removal.
fn documents<S, Q>(sim: &Simulator<S, Q>, removed: &RemovedAgent)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (deps, caller, agent) = (sim.calm_deps(), Caller::installation(), &removed.agent);
    let listed = block_on(list_sources(&deps, &caller, agent));
    let titles = listed.map(|listed| listed.sources).unwrap_or_default();
    let before = list_documents_before(sim, removed);
    for source in titles {
        if before.iter().any(|given| given.title == source.title) {
            sim.common.broken(format!(
                "{agent} has `{}` of the agent that had its name",
                source.title
            ));
        }
    }
}

/// No model was shown such a document long after the removal, whatever agent asked.
fn shown_documents<S, Q>(sim: &Simulator<S, Q>, removed: &RemovedAgent) {
    let (before, over_ms) = (
        list_documents_before(sim, removed),
        removed.told_ms + find_lateness(sim),
    );
    let shown = sim.fake_world.shown();
    for one in shown.iter().filter(|one| one.read_ms > over_ms) {
        let knowledge = one.knowledge.as_deref().unwrap_or_default();
        for given in before.iter().filter(|given| knowledge.contains(&given.words)) {
            sim.common.broken(format!(
                "a model was shown `{}` at {}, a document of the {} that was removed",
                given.title, one.read_ms, removed.agent
            ));
        }
    }
}
