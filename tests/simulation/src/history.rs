//! A history from a seed.

use crate::executor::Simulation;
use crate::hand::{Common, Counters};
use crate::mutation::Mutation;
use crate::outside::Outside;
use crate::plan::Plan;
use crate::queue::WorkQueues;
use crate::stage::{Aids, Stage};
use recado_domain::config::InstanceConfig;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// What a history came to.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The promises broken; empty if all is well.
    pub violations: Vec<String>,
    /// How much happened.
    pub counters: Counters,
    /// At how many places a function could have died.
    pub steps: u64,
    /// Messages that a phone got more than once.
    pub repeated: u64,
    /// Dead letters.
    pub dead: u64,
    /// How often a task went on.
    pub polls: u64,
    /// How much virtual time went by, in milliseconds.
    pub virtual_ms: i64,
    /// What happened, if it was traced.
    pub trace: Vec<String>,
}

/// Builds the stage for a history.
pub fn stage<S, Q>(common: &Arc<Common>, store: S, queues: Q, bounds: Vec<InstanceConfig>) -> Stage<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let outside = Outside::new(common.simulation.clone());
    Stage::new(Arc::clone(common), store, queues, outside, bounds)
}

/// What a stage came to.
pub fn finish<S, Q>(stage: &Arc<Stage<S, Q>>) -> Outcome
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let violations = stage.run();
    Outcome {
        violations,
        counters: stage.common.counters(),
        steps: stage.common.steps(),
        repeated: repeated(stage),
        dead: futures::executor::block_on(stage.store.count_dead_letters(None)).unwrap_or_default(),
        polls: stage.simulation().polls(),
        virtual_ms: stage.simulation().elapsed_ms(),
        trace: stage.common.trace(),
    }
}

fn repeated<S, Q>(stage: &Stage<S, Q>) -> u64
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let mut seen = std::collections::BTreeSet::new();
    let phones = stage.outside.phones();
    let again = phones
        .values()
        .flatten()
        .filter(|arrived| !seen.insert(arrived.message.clone()));
    again.count() as u64
}

/// Plays the random history of `seed`, on the store and queues that `make` builds.
pub fn play<S, Q, A>(
    seed: u64,
    mutation: Option<Mutation>,
    traced: bool,
    make: impl FnOnce(&Simulation, &Plan) -> (S, Q, A),
) -> Outcome
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
    A: Into<Aids>,
{
    let simulation = Simulation::new(seed);
    let plan = Plan::random(&simulation);
    let common = Arc::new(Common::new(
        simulation.clone(),
        plan.faults.clone(),
        mutation,
        traced,
    ));
    let (store, queues, aids) = make(&simulation, &plan);
    let mut stage = stage(&common, store, queues, plan.bounds());
    stage.style = plan.style;
    stage.aids = aids.into();
    stage.posted_twice = plan.posted_twice;
    stage.settings.turn_reads.messages = plan.turn_messages;
    let stage = Arc::new(stage);
    plan.set(&stage);
    finish(&stage)
}
