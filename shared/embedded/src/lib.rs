//! Recado's store and queues on one machine: one `SQLite` file in one folder.
//!
//! An acknowledged write is on the disk (`WAL`, `synchronous=FULL`). One thread writes; whatever is waiting when it
//! comes round goes into one transaction, so that many callers share one `fsync`, and each is answered after it. Reads
//! have connections of their own.
//!
//! The operations themselves are synchronous functions over a connection. [`Embedded::open`] puts threads in front of
//! them, [`Embedded::in_memory`] calls them where it stands: no thread, no file, which is what a simulation wants.
//!
//! Store and queues lie in one file but are written by separate calls and separate commits, as they are on AWS: a crash
//! can fall between any two of them here too.

mod clock;
mod crew;
mod embedded;
mod fault;
mod folder;
mod job;
mod migrations;
mod payloads;
mod private;
mod queue;
mod record;
mod recovery;
mod set_back;
mod store;

pub use clock::{Clock, SystemAmbient};
pub use embedded::Embedded;
pub use folder::OpenError;
pub use private::{Privacy, keep_private};
pub use queue::{DeadMessage, Owner, QueueDepth, Receipt, Received, Room};
pub use recovery::Recovered;
pub use store::Swept;
