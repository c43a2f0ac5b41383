//! Recado's use cases: the processing of a message, step by step.
//!
//! Each use case is one async function over a [`Deps`]: it reads records, applies the domain's rules, writes
//! conditionally, and stores the next step in a queue before it reports success. No use case reads the clock, a socket
//! or the environment by itself.
//!
//! `usecases` has one module per use case; none of them imports another. What several of them share is in `steps`, or,
//! if it is a rule, in the domain. Other crates name both as modules of this crate. `hooks` has the questions that the path of
//! a message asks of features, and `features` lists who answers; `gates` are the features of the sender.

mod features;
mod gates;
mod hooks;
pub mod measure;
mod parts;
mod queue_jobs;
mod rules;
mod steps;
mod usecases;

pub use queue_jobs::{handle_outbound_message, handle_turns_message};
pub use recado_ports::{
    Components, Deps, ExclusiveTurns, RetryLock, Settings, deps, ports, random_id, records, retry_write,
    settings, step_commit, table,
};
pub use steps::outgoing_check::NotSendable;
pub use steps::verdict::Verdict;
pub use steps::{delivery_permission, effects, installation_reading, question_rewriting, trace_span, upload};
pub use usecases::{
    alert, appointments, audit, catch_up, configure, contacts, deliver, health, ingest, key_check, knowledge,
    message_file, occasions, operate, opt_outs, process, published_events, reconcile, self_check,
    tenant_removal, tokens, trace, trends, usage, webhooks,
};
