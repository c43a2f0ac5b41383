//! Recado's use cases: what happens to a message, step by step.
//!
//! Each use case is one async function over a [`World`]: it reads records, lets the domain decide, writes on condition,
//! and leaves the next obligation in a queue before it reports success. None of them reads a clock, a socket or an
//! environment of its own.

pub mod catch_up;
pub mod chance;
mod collect;
pub mod configure;
mod connection;
mod dead;
pub mod deliver;
pub mod health;
mod identity;
pub mod ingest;
mod keeping;
mod kick;
pub mod operate;
mod person;
pub mod ports;
pub mod process;
mod queued;
pub mod reconcile;
mod replies;
pub mod reply;
pub mod send;
pub mod settings;
mod silence;
pub mod trace;
pub mod upload;
pub mod verdict;
mod wish;
pub mod world;

pub use settings::Settings;
pub use verdict::Verdict;
pub use wish::NotSendable;
pub use world::{Parts, Retries, World};
