//! What the use cases need: the ports that stores, queues, providers and models implement, their settings, and small helpers of both
//! sides.
//!
//! It is a crate of its own, so that a change of a use case does not compile the adapters again.

mod page;
mod port_error;
pub mod ports;
pub mod random_id;
pub mod records;
pub mod retry_write;
pub mod settings;
pub mod step_commit;
pub mod table;
pub mod time_limit;
pub mod unreadable_record;
mod write_outcome;

pub use settings::Settings;
