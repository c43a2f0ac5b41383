//! Histories of the simulator on this store: its clock, its random numbers, and a function that may die before each request.

// It has no tests of its own: a test program of it, which `cargo test --lib` makes, has nothing to compile.
#![cfg(not(test))]

mod troubles;

use async_trait::async_trait;
pub use troubles::Troubles;

use jiff::Timestamp;
use recado_aws::DynamoStore;
use recado_dynamo_simulation::{Dynamo, Fault, Hooks, Operation, Options, Pause, SimulationError};
use recado_pipeline::ports::System;
use recado_simulation::executor::Simulation;
use recado_simulation::fault_injector::FaultInjector;
use recado_simulation::queue::Sqs;
use recado_simulation::scenario::Telling;
use recado_simulation::simulator::{Due, StoreExtras};
use recado_simulation::{Mutation, Outcome, play};
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

/// Time and chance of a simulation, for the waits of the adapter and of the SDK.
#[derive(Debug, Clone)]
pub struct Clock(Simulation);

#[async_trait]
impl System for Clock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn random_u64(&self) -> u64 {
        self.0.random()
    }

    async fn sleep(&self, duration: Duration) {
        let milliseconds = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        self.0.sleep(milliseconds).await;
    }
}

/// Before each request others may go first, and the function may stall or die, so that what a call does in several
/// requests is seen half done, too. (Not where what is overdue is read: 40 requests at once that change nothing.)
fn way_there(operation: &Operation) -> Pause {
    match FaultInjector::of_this_call() {
        Some(injector) if operation.index.as_deref() != Some("open") => {
            let request = operation.verb.name();
            Box::pin(async move { injector.step_unchanged(request).await })
        }
        _ => Box::pin(ready(())),
    }
}

/// Notes a request that may have changed records: a crash after it can differ from one before it.
fn note_written(operation: &Operation) -> Pause {
    if operation.verb.writes()
        && let Some(injector) = FaultInjector::of_this_call()
    {
        injector.note_effect(operation.verb.name());
    }
    Box::pin(ready(()))
}

/// How long a record of a transaction that is done item by item may stay behind the others, in milliseconds.
const TORN_MS: i64 = 60;

/// The database of a history. What the checks read belongs to no function: there nothing fails and nothing waits.
fn database(simulation: &Simulation, troubles: Troubles) -> Result<Dynamo, SimulationError> {
    let (clock, waits) = (simulation.clone(), simulation.clone());
    let hooks = Hooks::new(move || clock.now())
        .before(way_there)
        .after(note_written)
        .between(move |_| {
            let waits = waits.clone();
            Box::pin(async move { waits.sleep(waits.between(0, TORN_MS)).await })
        })
        .fault(move |operation| {
            FaultInjector::of_this_call()
                .map_or(Fault::None, |injector| troubles.decide(operation, &injector))
        });
    Dynamo::new(hooks)
}

fn made(simulation: &Simulation, troubles: Troubles, twice: f64) -> (DynamoStore<Clock>, Sqs, StoreExtras) {
    let dynamo = database(simulation, troubles).unwrap_or_else(|error| broken(&error));
    let options = Options {
        attempts: troubles.attempts,
        ..Options::default()
    };
    let store = dynamo.store(Clock(simulation.clone()), &options);
    let look = move || dynamo.first_due().unwrap_or_else(|error| broken(&error));
    let extras = StoreExtras {
        due: Some(Due(Arc::new(look))),
        ..StoreExtras::default()
    };
    (store, Sqs::new(simulation.clone(), twice), extras)
}

/// Without its database there is no simulation.
#[expect(clippy::panic, reason = "a simulation is a test")]
fn broken(error: &SimulationError) -> ! {
    panic!("{error}")
}

/// Plays the random history of `seed`, over the model of SQS.
pub fn history(seed: u64, mutation: Option<Mutation>, traced: bool) -> Outcome {
    play(seed, mutation, traced, |simulation, _| {
        made(simulation, Troubles::random(simulation), 0.03)
    })
}

/// Tells a story, over the model of SQS. The database has no troubles of its own.
pub fn tell(telling: &Telling, traced: bool) -> Outcome {
    telling.tell(traced, |simulation| made(simulation, Troubles::default(), 0.0))
}
