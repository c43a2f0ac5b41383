//! Histories on `SQLite` in memory.

// The tests of this library play none, and need not wait until the simulator is compiled for this store.
#[cfg(not(test))]
mod histories;
#[cfg(not(test))]
pub mod machine_faults;

#[cfg(not(test))]
pub use histories::{history, tell};

use crate::executor::Simulation;
use crate::simulator::{Index, Recover};
use futures::executor::block_on;
use recado_embedded::{Clock, Embedded};
use std::sync::Arc;

/// An empty store on the simulation's clock.
pub fn store(simulation: &Simulation) -> Embedded {
    let simulation = simulation.clone();
    Embedded::in_memory(Clock::new(move || simulation.machine_now())).expect("a database in memory")
}

/// Indexes words, as a worker of the process does beside its other work.
pub fn index(store: &Embedded) -> Index {
    let store = store.clone();
    Index(Arc::new(move || {
        while block_on(store.index_message_words()).expect("words are indexed") > 0 {}
    }))
}

/// What the process does at its start.
pub fn recover(store: &Embedded) -> Recover {
    let store = store.clone();
    Recover(Arc::new(move || {
        block_on(store.recover_after_crash()).expect("what was left behind is found");
    }))
}
