//! Operators who replace agents and their documents while messages flow.

use super::{LinePlan, Plan, happens};
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_domain::config::Agent;
use recado_domain::ids::AgentId;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// An operator replaces the first number's agent some times, removes it between, and gives it documents.
pub(super) fn entries<S, Q>(sim: &Arc<Simulator<S, Q>>, plan: &Plan)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let Some(line) = plan.lines.first().filter(|_| plan.has_entries) else {
        return;
    };
    let (on, line) = (Arc::clone(sim), line.clone());
    happens(sim, async move {
        let own = line.bound.agent.id.clone();
        for round in 0..on.simulation().between(1, 3) {
            let simulation = on.simulation();
            simulation.sleep(simulation.between(500, 60_000)).await;
            if simulation.chance(0.5) {
                reads_document(&on, &own, round);
                simulation.sleep(simulation.pick(&[0, 300, 5_000])).await;
            }
            let other = AgentId::parse("agent-other").expect("a name");
            on.put_agent(0, &agent_with(&line, &other, 2 * round)).await;
            if simulation.chance(0.7) {
                on.remove_agent(&own).await;
            }
            on.put_agent(0, &agent_with(&line, &own, 2 * round + 1)).await;
        }
    });
}

/// Gives the agent a document. Some are read for long, or without a model of vectors.
fn reads_document<S, Q>(sim: &Arc<Simulator<S, Q>>, agent: &AgentId, round: i64)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let simulation = sim.simulation();
    if simulation.chance(0.5) {
        sim.fake_world.let_embedding_take(simulation.between(500, 20_000));
    }
    if simulation.chance(0.2) {
        sim.fake_world.let_embeddings_fail(1);
    }
    let (on, agent) = (Arc::clone(sim), agent.clone());
    happens(sim, async move {
        let words = format!("m1 m2 and m3 cost {round} euros.");
        on.add_document(&agent, &format!("prices-{round}.md"), &words)
            .await;
    });
}

/// The number's agent under this name, with a prompt of its own.
fn agent_with(line: &LinePlan, id: &AgentId, number: i64) -> Agent {
    let mut agent = line.bound.agent.clone();
    agent.id = id.clone();
    agent.system_prompt = format!("You answer for {}. (prompt {number})", agent.tenant);
    agent
}
