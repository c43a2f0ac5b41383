//! Recado's real use cases on a virtual clock, in a world that crashes, stalls, repeats, loses and disconnects. One seed
//! decides everything; after each history the promises are checked against what the phones really got.
//!
//! Generic over the store, so that the same histories run on `SQLite` in memory and on the `DynamoDB` adapter.

#![expect(
    clippy::expect_used,
    reason = "this crate is test code: whatever is not as it should be ends the history"
)]
#![expect(clippy::similar_names, reason = "a simulator has simulations")]

pub mod check;
pub mod command;
pub mod executor;
pub mod fake_world;
pub mod fault_injector;
mod faulty_ports;
pub mod history;
pub mod mutation;
pub mod observations;
pub mod open_records;
pub mod person;
pub mod plan;
pub mod queue;
pub mod scenario;
pub mod simulator;

#[cfg(feature = "embedded")]
pub mod embedded;

pub use history::{Outcome, play, play_beside};
pub use mutation::Mutation;
