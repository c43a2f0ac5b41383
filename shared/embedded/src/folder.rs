//! A data folder: its files, the connections to its databases, and the formats that this program opens.

mod connections;
mod format;
mod open_error;
mod private_files;
mod unfinished_files;

use connections::{open_copying, open_writing};
pub(crate) use connections::{open_in_memory, open_reading};
use format::{check_intake, check_tables, prepare_intake, prepare_tables};
pub use open_error::OpenError;
pub(crate) use private_files::{create_file, create_folder, sync_folder};
use rusqlite::Connection;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use unfinished_files::delete_unfinished;
pub(crate) use unfinished_files::{UNFINISHED, UNFINISHED_RESTORE};

/// A data folder on which only this process works: the database, its lock, the large bodies and the files.
#[derive(Debug)]
pub(crate) struct DataFolder {
    database: PathBuf,
    /// The intake log.
    intake: PathBuf,
    /// The lock on the folder, held as long as this value lives. The system releases it when the process ends, however
    /// it ends.
    lock: File,
    /// The folder of the large bodies.
    pub(crate) payloads: PathBuf,
    /// The folder of the bytes of files.
    pub(crate) files: PathBuf,
}

/// The connections of the intake log.
pub(crate) struct IntakeFiles {
    /// The connection that writes.
    pub(crate) writer: Connection,
    /// A connection that only reads.
    pub(crate) reader: Connection,
    /// The connection that copies the log of the file into it.
    pub(crate) checkpointer: Connection,
}

impl DataFolder {
    /// Creates the folder if it is missing, readable by its owner only, and takes the lock.
    pub(crate) fn open_exclusive(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Folder {
            path: path.to_owned(),
            source,
        };
        let (payloads, files) = (path.join("payloads"), path.join("files"));
        create_folder(path)
            .and_then(|()| create_folder(&payloads))
            .and_then(|()| create_folder(&files))
            .map_err(failed)?;
        let lock = create_file(&path.join("recado.lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::InUse {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        if path.join(UNFINISHED_RESTORE).exists() {
            return Err(OpenError::UnfinishedRestore {
                path: path.to_owned(),
            });
        }
        delete_unfinished(&files).map_err(failed)?;
        // SQLite gives its other files the permissions of these.
        let database = path.join("recado.db");
        create_file(&database).map_err(failed)?;
        let intake = path.join("intake.db");
        create_file(&intake).map_err(failed)?;
        sync_folder(path).map_err(failed)?;
        Ok(Self {
            database,
            intake,
            lock,
            payloads,
            files,
        })
    }

    /// Opens the connection that writes, and makes the tables of a new database.
    pub(crate) fn open_writer(&self) -> Result<Connection, OpenError> {
        let connection = open_writing(&self.database, check_tables)?;
        // The cache holds the pages that every commit needs. At some commits SQLite looks at each page of it, so more is not better.
        connection.execute_batch("PRAGMA cache_size = -8192")?;
        prepare_tables(&connection)?;
        Ok(connection)
    }

    /// Opens the connection that copies the log into the database.
    pub(crate) fn open_checkpointer(&self) -> Result<Connection, OpenError> {
        open_copying(&self.database)
    }

    /// Opens a connection that only reads.
    pub(crate) fn open_reader(&self) -> Result<Connection, OpenError> {
        open_reading(&self.database)
    }

    /// Opens the connections of the intake log, and makes the table of a new log.
    pub(crate) fn open_intake_files(&self) -> Result<IntakeFiles, OpenError> {
        let writer = open_writing(&self.intake, check_intake)?;
        prepare_intake(&writer)?;
        Ok(IntakeFiles {
            writer,
            reader: open_reading(&self.intake)?,
            checkpointer: open_copying(&self.intake)?,
        })
    }

    /// Returns the lock, for the thread that works on the folder last.
    pub(crate) fn into_lock(self) -> File {
        self.lock
    }
}

/// Checks that this program opens the database of a folder, and only reads it.
pub(crate) fn check_format(folder: &Path) -> Result<(), OpenError> {
    check_tables(&open_reading(&folder.join("recado.db"))?)
}
