use crate::db_error::FULL_DISK_REMEDY;
use rusqlite::ErrorCode;
use std::io;
use std::path::PathBuf;

/// The reason why a data folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or a file in it cannot be used.
    #[error("the data folder {}: {source}", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// Another process works on the folder.
    #[error("the data folder {} is in use by another recado process; stop that one first", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A restore into the folder was cut off.
    #[error("a restore into {} was cut off: remove the folder, and restore again", path.display())]
    UnfinishedRestore {
        /// The folder.
        path: PathBuf,
    },
    /// An import into the folder was cut off.
    #[error("an import into {} was cut off: run the same `recado import` again", path.display())]
    UnfinishedImport {
        /// The folder.
        path: PathBuf,
    },
    /// A newer program wrote the database.
    #[error(
        "the database is of format {found}, and this recado knows formats up to {known}: a newer recado wrote it. Use that one, or \
         restore the backup from before the update into a new folder (docs/server.md)"
    )]
    NewerFormat {
        /// The database's format.
        found: u32,
        /// The format of this program.
        known: u32,
    },
    /// The database is of a format before the first release, or of another program.
    #[error(
        "the database is of format {found}, and this recado's is {known}: export the data with the recado that wrote it (`recado \
         export`), and import the export into a new folder with this one (`recado import`, docs/moving.md)"
    )]
    OlderFormat {
        /// The database's format.
        found: u32,
        /// The format of this program.
        known: u32,
    },
    /// The database reported an error.
    #[error("the database: {cause}{}", remedy_of(cause))]
    Database {
        /// The error of the database.
        cause: rusqlite::Error,
    },
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[source] io::Error),
}

impl From<rusqlite::Error> for OpenError {
    /// The error of the database is no source of this one: its text is said here already.
    fn from(cause: rusqlite::Error) -> Self {
        Self::Database { cause }
    }
}

/// Returns the remedy for an error of the database, to be added to its text. It is empty if none is known.
fn remedy_of(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            ". It is damaged: move the data folder away and put its last copy in place (docs/server.md)"
                .to_owned()
        }
        Some(ErrorCode::DiskFull) => format!(". {FULL_DISK_REMEDY}"),
        _ => String::new(),
    }
}
