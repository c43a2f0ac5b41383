//! Recado's store and queues on one machine: one `SQLite` file in one folder.
//!
//! An acknowledged write is on the disk (`WAL`, `synchronous=FULL`). One thread writes: it takes all operations that
//! are waiting and commits them in one transaction. So many callers share one `fsync`, and each gets its result after
//! it. Reads have connections of their own. A record is read on the caller's thread, a list on one of its own.
//!
//! The operations themselves are synchronous functions over a connection. [`Embedded::open_folder`] runs them on
//! threads. [`Embedded::in_memory`] runs them on the caller's thread, without a file, which suits simulations.
//!
//! Store and queues lie in one file but are written by separate calls and separate commits, as they are on AWS: a crash
//! can fall between any two of them here too. The exception is the commit of a step ([`recado_ports::step_commit`]), which is one
//! transaction.
//!
//! What a provider waits for goes first: a commit takes up to 192 of those operations and 16 others, or, if nobody waits so, 64 others. If an
//! operation fails, all are undone and run again, each in a savepoint of its own, so that it undoes only itself. (A savepoint makes SQLite
//! copy each page that is changed, and an operation seldom fails.) Once the log of the database is long and little of it is left to
//! copy, the writing thread copies the rest between two commits, and the log begins anew.
//!
//! Workers, the mover of the intake log, the posts to endpoints and the thread that writes run with a lower priority: where the processors
//! cannot do all, such a thread gets a third of the time of one that takes webhooks or answers the API.
//!
//! What has expired counts as absent until `delete_expired` removes it.

mod backup;
mod checkpoint;
mod clock;
mod clock_set_back;
mod config_cache;
mod database_threads;
mod db_error;
mod embedded;
mod file_permissions;
mod files;
mod folder;
mod installation_values;
mod intake_log;
mod job;
mod lookups;
mod queue;
mod recovery;
mod restored;
mod sql_records;
mod store;
mod stored_files;
mod threads;
mod timed_tables;
mod typing_memory;

pub use backup::{BackupError, BackupManifest, BackupProgress, back_up_folder, check_backup, restore_backup};
pub use clock::{Clock, EmbeddedSystem};
pub use db_error::{FULL_DISK_REMEDY, is_disk_full};
#[cfg(feature = "test-access")]
pub use embedded::StoreCopy;
pub use embedded::{Embedded, EventReader};
pub use file_permissions::{FolderPrivacy, restrict_to_owner};
pub use folder::OpenError;
pub use queue::{DeadMessage, DequeuedMessage, EmbeddedQueueDepth, FairShare, Receipt, TenantKey};
pub use recovery::RecoveryCounts;
pub use store::{INDEX_BATCH, RestoredCounts, SweepCounts};
pub use threads::yield_to_acknowledgements;
