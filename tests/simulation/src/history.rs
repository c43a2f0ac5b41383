//! A history from a seed.

use crate::executor::Simulation;
use crate::fake_world::FakeWorld;
use crate::fault_injector::{Common, Counters, DistinctStep};
use crate::mutation::Mutation;
use crate::plan::Plan;
use crate::queue::WorkQueues;
use crate::simulator::{Simulator, StoreExtras};
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::debounce::Debounce;
use recado_pipeline::ports::Store;
use recado_pipeline::records::dead_letters::count_dead_letters;
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
    /// Those of them at which it can make a difference.
    pub distinct_steps: Vec<DistinctStep>,
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

/// Builds the simulator for a history.
pub fn sim<S, Q>(common: &Arc<Common>, store: S, queues: Q, bounds: Vec<InstanceConfig>) -> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let fake_world = FakeWorld::new(common.simulation.clone());
    Simulator::new(Arc::clone(common), store, queues, fake_world, bounds)
}

/// What a simulation came to.
pub fn finish<S, Q>(sim: &Arc<Simulator<S, Q>>) -> Outcome
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let violations = sim.run();
    Outcome {
        violations,
        counters: sim.common.counters(),
        steps: sim.common.steps(),
        distinct_steps: sim.common.distinct_steps(),
        repeated: repeated(sim),
        dead: futures::executor::block_on(count_dead_letters(&sim.store, None))
            .map(|counts| counts.count_of(None))
            .unwrap_or_default(),
        polls: sim.simulation().polls(),
        virtual_ms: sim.simulation().elapsed_ms(),
        trace: sim.common.trace(),
    }
}

fn repeated<S, Q>(sim: &Simulator<S, Q>) -> u64
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let mut seen = std::collections::BTreeSet::new();
    let phones = sim.fake_world.phones();
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
    A: Into<StoreExtras>,
{
    play_beside(seed, mutation, traced, make, |_| {})
}

/// Adds further kinds by the seed and not by the simulation's random numbers, so that the other histories stay as they are.
fn add_kinds(plan: &mut Plan, seed: u64, simulation: &Simulation) {
    plan.has_clients = seed / 8 % 4 == 1;
    // An eighth, none of which ever broke a promise before.
    plan.has_lookups = matches!(seed % 16, 2 | 14);
    // A tenth and fewer, of all the other kinds.
    plan.has_endpoints = seed % 10 == 3;
    plan.has_entries = seed % 18 == 7;
    // An eighth, of which none ever broke a promise before.
    if matches!(seed % 32, 1 | 8 | 20 | 31) {
        plan.invite_guests(simulation);
    }
    // A sixteenth, none of which drops drafts: how late an answer may be is known there without places.
    if seed % 16 == 9 {
        plan.limit_turns(seed / 16 % 2 == 1);
    }
    // A sixteenth, none of which has other guests.
    plan.has_batches = seed % 16 == 3;
}

/// Plays the random history of `seed`, with what `beside` starts in it.
pub fn play_beside<S, Q, A>(
    seed: u64,
    mutation: Option<Mutation>,
    traced: bool,
    make: impl FnOnce(&Simulation, &Plan) -> (S, Q, A),
    beside: impl FnOnce(&Arc<Simulator<S, Q>>),
) -> Outcome
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
    A: Into<StoreExtras>,
{
    let simulation = Simulation::new(seed);
    let mut plan = Plan::random(&simulation);
    add_kinds(&mut plan, seed, &simulation);
    let common = Arc::new(Common::new(
        simulation.clone(),
        plan.faults.clone(),
        mutation,
        traced,
    ));
    let (store, queues, extras) = make(&simulation, &plan);
    let mut sim = sim(&common, store, queues, plan.bounds());
    sim.style = plan.style;
    sim.extras = extras.into();
    sim.posted_twice = plan.posted_twice;
    sim.settings.turn_reads.messages = plan.turn_messages;
    // Odd and even seeds have different queues, so half of each waits adaptively.
    if seed / 2 % 2 == 1 {
        sim.settings.debounce = Debounce::Adaptive(sim.settings.debounce_bounds);
    }
    // A quarter of those of each kind drops drafts.
    if seed / 4 % 4 == 1 {
        sim.settings.restart_drafts = 2;
    }
    if plan.has_clients {
        sim.settings.typing.long = SignedDuration::from_secs(10);
    }
    if plan.has_lookups {
        sim.fake_world.let_lookups_end_by_chance();
    }
    let sim = Arc::new(sim);
    plan.set(&sim);
    beside(&sim);
    finish(&sim)
}
