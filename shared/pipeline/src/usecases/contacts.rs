//! What a person may ask of those who hold its data: to be found, to get a copy of everything, to be erased.

mod erase;
mod export;
mod lookup;
mod thread_erasure;

use crate::ports::PortError;
pub use erase::{EraseReport, erase_contact};
pub use export::{ContactExport, ExportedFile, export_contact};
pub use lookup::{ContactQuery, FoundContact, FoundConversation, find_contact};
use recado_domain::recipient::RecipientError;

/// The reason for which a request about a contact was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ContactError {
    /// The named record does not exist.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The contact is named by neither a number nor an identity.
    #[error(transparent)]
    Recipient(#[from] RecipientError),
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}
