//! The path of a message, step by step, and the questions that it asks of features.
//!
//! Each use case is one async function over a [`Deps`]: it reads records, applies the domain's rules, writes
//! conditionally, and stores the next step in a queue before it reports success. No use case reads the clock, a socket
//! or the environment by itself.
//!
//! `usecases` has one module per use case; none of them imports another. What several of them share is in `steps`, or,
//! if it is a rule, in the domain. `hooks` has the questions that the path asks of features, and [`Features`] lists who answers. What
//! belongs to the path itself answers from `rules`, `parts`, `gates` and `reconcile`; a feature is a crate of `shared/features`.

mod commit_order;
pub mod deps;
mod features;
pub mod gates;
pub mod hooks;
pub mod measure;
pub mod parts;
mod queue_jobs;
pub mod rules;
pub mod steps;
mod usecases;

pub use crate::queue_jobs::{handle_outbound_message, handle_turns_message};
pub use crate::steps::outgoing_check::NotSendable;
pub use crate::steps::verdict::Verdict;
pub use crate::steps::{installation_reading, trace_span, upload};
pub use crate::usecases::{catch_up, ingest, process, reconcile};
pub use deps::{Components, Deps, ExclusiveTurns, RetryLock};
pub use features::{Features, NO_FEATURES};
pub use recado_ports::{Settings, ports, random_id, records, retry_write, settings, step_commit, table};
