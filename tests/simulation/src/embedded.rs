//! Histories on `SQLite` in memory.

use crate::executor::Simulation;
use crate::history::{Outcome, play};
use crate::mutation::Mutation;
use crate::plan::Plan;
use crate::queue::Sqs;
use crate::scenario::Telling;
use crate::simulator::{Aids, Recover, Style};
use futures::executor::block_on;
use recado_embedded::{Clock, Embedded};
use std::sync::Arc;

/// An empty store on the simulation's clock.
pub fn store(simulation: &Simulation) -> Embedded {
    let simulation = simulation.clone();
    Embedded::in_memory(Clock::new(move || simulation.now())).expect("a database in memory")
}

/// What the process does at its start.
pub fn recover(store: &Embedded) -> Recover {
    let store = store.clone();
    Recover(Arc::new(move || {
        block_on(store.recover_after_crash()).expect("what was left behind is found");
    }))
}

/// Plays `seed`: odd seeds on the embedded queues, even ones on the model of SQS.
pub fn history(seed: u64, mutation: Option<Mutation>, traced: bool) -> Outcome {
    if seed % 2 == 1 {
        return play(seed, mutation, traced, |simulation: &Simulation, plan: &Plan| {
            let store = store(simulation);
            let again = (plan.style == Style::Machine).then(|| recover(&store));
            (store.clone(), store, again)
        });
    }
    play(seed, mutation, traced, |simulation: &Simulation, _: &Plan| {
        (
            store(simulation),
            Sqs::new(simulation.clone(), 0.03),
            Aids::default(),
        )
    })
}

/// Tells a story: as on AWS over the model of SQS, on one machine over the embedded queues.
pub fn tell(telling: &Telling, traced: bool) -> Outcome {
    if telling.style == Style::Machine {
        return telling.tell(traced, |simulation: &Simulation| {
            let store = store(simulation);
            (store.clone(), store.clone(), Some(recover(&store)))
        });
    }
    telling.tell(traced, |simulation: &Simulation| {
        (
            store(simulation),
            Sqs::new(simulation.clone(), 0.0),
            Aids::default(),
        )
    })
}
