//! Moves an installation from one store to another, by way of a folder.
//!
//! [`export_installation`] writes each kind of records into a file of its own, one JSON object a line, copies the files, and
//! writes the manifest last. [`import_installation`] checks the folder, takes all into a store, reads everything back and
//! compares it. Both can be cut off at any point and run again. Queues do not move: records say what is owed, and `reconcile` asks for
//! it at the new place. The format: `docs/moving.md`.

mod check;
mod error;
mod export;
mod file_copies;
mod folder;
mod former_conversations;
mod import;
mod key_owners;
mod kinds;
mod manifest;
mod report;
mod tallies;

pub use check::check_export;
pub use error::MovingError;
pub use export::{ExportOptions, export_installation};
pub use import::{ImportReport, import_installation};
pub use manifest::{ExportManifest, ExportedFiles, ExportedKind, FORMAT};

/// The steps of a move, for those who show how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MovingStep {
    /// Records were read or written.
    Records,
    /// Files were copied.
    Files,
    /// The result was compared.
    Check,
}

/// Is told how many more records or files a step has worked on.
pub type MovingProgress<'a> = &'a (dyn Fn(MovingStep, usize) + Send + Sync);
