//! Recado's use cases: the processing of a message, step by step.
//!
//! Each use case is one async function over a [`Deps`]: it reads records, applies the domain's rules, writes
//! conditionally, and stores the next step in a queue before it reports success. No use case reads the clock, a socket
//! or the environment by itself.

pub mod catch_up;
pub mod configure;
mod connection;
mod dead_queue_collection;
pub mod deliver;
pub mod deps;
mod give_up;
pub mod health;
mod identity;
mod inactivity;
pub mod ingest;
mod linked_threads;
pub mod operate;
mod outgoing_check;
mod payload_retention;
pub mod ports;
pub mod process;
mod queue_message;
pub mod random_id;
pub mod reconcile;
pub mod reply;
mod reply_coverage;
pub mod send;
pub mod settings;
pub mod trace;
pub mod upload;
pub mod verdict;
mod wake_up;

pub use deps::{Components, Deps, RetryLock};
pub use outgoing_check::NotSendable;
pub use settings::Settings;
pub use verdict::Verdict;
