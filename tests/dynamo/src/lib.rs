//! Recado's `DynamoDB` store for a simulator: the adapter and the SDK as they are deployed, on a `DynamoDB` inside this
//! process, with the time, the faults and the interleaving that the simulator decides.
//!
//! ```
//! use recado_dynamo_simulation::{Dynamo, Fault, Hooks, Options, Verb};
//!
//! # fn simulate(ambient: recado_aws::OsSystem) -> Result<(), recado_dynamo_simulation::SimulationError> {
//! let hooks = Hooks::new(jiff::Timestamp::now)
//!     .fault(|operation| match operation.verb {
//!         Verb::Transact if operation.number % 10 == 0 => Fault::FailAfter,
//!         _ => Fault::None,
//!     })
//!     .before(|_| Box::pin(async { /* let others go first */ }));
//! let dynamo = Dynamo::new(hooks)?;
//! let store = dynamo.store(ambient, &Options::default());
//! # Ok(())
//! # }
//! ```
//!
//! The table is the one of `template.yaml`. What a simulation must know beside the hooks: a process that is simulated
//! has a store of its own ([`Dynamo::store`]), since each remembers configuration for a while; clones share what they
//! remember. Nothing expires until [`Dynamo::expire`], as on AWS, where it may take days. Of all that the SDK does, only
//! the tokens of its transactions and the order of fields in its bodies differ from run to run; neither is seen in
//! an [`Operation`] or in an answer.

mod client;
mod connector;
mod database;
mod error;
mod hooks;
mod operation;
mod publisher_filter;
mod readers;
mod replica;
mod simulated;
mod template;

pub use error::SimulationError;
pub use hooks::{Fault, Hooks, Pause};
pub use operation::{Operation, Record, RecordKey, Verb};
pub use simulated::{Dynamo, Options};
pub use template::{TableRequests, table_requests};
