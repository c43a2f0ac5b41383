//! Plays histories and tells stories.

use super::{index, recover, store};
use crate::executor::Simulation;
use crate::history::{Outcome, play};
use crate::mutation::Mutation;
use crate::plan::Plan;
use crate::queue::EitherQueues;
use crate::scenario::Telling;
use crate::simulator::{StoreExtras, Style};
use recado_embedded::Embedded;

/// The store and the queues of a history on the model of SQS, which delivers a message twice with this likelihood.
fn on_sqs(simulation: &Simulation, twice: f64) -> (Embedded, EitherQueues, StoreExtras) {
    let store = store(simulation);
    let extras = extras(&store, false);
    (store, EitherQueues::on_sqs(simulation.clone(), twice), extras)
}

/// The store and the queues of a history in one database; `recovers` if the process starts again after a power cut.
fn on_embedded(simulation: &Simulation, recovers: bool) -> (Embedded, EitherQueues, StoreExtras) {
    let store = store(simulation);
    let extras = extras(&store, recovers);
    (store.clone(), EitherQueues::Embedded(store), extras)
}

fn extras(store: &Embedded, recovers: bool) -> StoreExtras {
    StoreExtras {
        recover: recovers.then(|| recover(store)),
        index: Some(index(store)),
        publishes: true,
        ..StoreExtras::default()
    }
}

/// Plays `seed`: odd seeds on the embedded queues, even ones on the model of SQS.
pub fn history(seed: u64, mutation: Option<Mutation>, traced: bool) -> Outcome {
    play(seed, mutation, traced, |simulation: &Simulation, plan: &Plan| {
        if seed % 2 == 1 {
            on_embedded(simulation, plan.style == Style::Machine)
        } else {
            on_sqs(simulation, 0.03)
        }
    })
}

/// Tells a story: as on AWS over the model of SQS, on one machine over the embedded queues.
pub fn tell(telling: &Telling, traced: bool) -> Outcome {
    telling.tell(traced, |simulation: &Simulation| {
        if telling.style == Style::Machine {
            on_embedded(simulation, true)
        } else {
            on_sqs(simulation, 0.0)
        }
    })
}
