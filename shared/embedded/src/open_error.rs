use crate::backup::BackupError;
use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

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
    /// The database is of another format.
    #[error("the database is of format {found}, and this recado's is {known}: {}", advise_on_format(*found, *known))]
    OtherFormat {
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

impl OpenError {
    /// Makes the error of a backup of the folder `data`.
    pub(crate) fn into_backup_error(self, data: &Path) -> BackupError {
        match self {
            Self::Database { cause } => BackupError::Database(cause),
            _ => BackupError::NoDataFolder(data.to_owned()),
        }
    }
}

impl From<rusqlite::Error> for OpenError {
    /// The error of the database is no source of this one: its text is said here already.
    fn from(cause: rusqlite::Error) -> Self {
        Self::Database { cause }
    }
}

/// Returns what to do about a database of another format.
fn advise_on_format(found: u32, known: u32) -> &'static str {
    if found > known {
        "use a newer recado"
    } else {
        "until 0.1.0 is released, folders are not converted. Use the recado that wrote it, or another folder (--data)"
    }
}

/// Returns the remedy for an error of the database, to be added to its text. It is empty if none is known.
fn remedy_of(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            ". It is damaged: move the data folder away and put its last copy in place (docs/server.md)"
        }
        Some(ErrorCode::DiskFull) => ". Make room on the disk, and start again",
        _ => "",
    }
}
