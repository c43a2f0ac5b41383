//! Plays histories and tells stories.

use super::{recover, store};
use crate::executor::Simulation;
use crate::history::{Outcome, play};
use crate::mutation::Mutation;
use crate::plan::Plan;
use crate::queue::EitherQueues;
use crate::scenario::Telling;
use crate::simulator::{Recover, Style};
use recado_embedded::Embedded;

/// The store and the queues of a history on the model of SQS, which delivers a message twice with this likelihood.
fn on_sqs(simulation: &Simulation, twice: f64) -> (Embedded, EitherQueues, Option<Recover>) {
    (
        store(simulation),
        EitherQueues::on_sqs(simulation.clone(), twice),
        None,
    )
}

/// The store and the queues of a history in one database; `recovers` if the process starts again after a power cut.
fn on_embedded(simulation: &Simulation, recovers: bool) -> (Embedded, EitherQueues, Option<Recover>) {
    let store = store(simulation);
    let again = recovers.then(|| recover(&store));
    (store.clone(), EitherQueues::Embedded(store), again)
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
