use crate::file_permissions::{FolderPrivacy, restrict_to_owner};
use crate::migrations::apply_migrations;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Why a data folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or a file in it.
    #[error("the data folder {}: {source}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// Another process works on it.
    #[error("the data folder {} is in use by another recado process; stop that one first", path.display())]
    InUse {
        /// Which.
        path: PathBuf,
    },
    /// A newer recado has changed it.
    #[error("the database is of version {found}, this recado knows up to {known}: use a newer one")]
    Newer {
        /// The database's version.
        found: usize,
        /// This program's.
        known: usize,
    },
    /// The database.
    #[error("the database: {0}")]
    Database(#[from] rusqlite::Error),
    /// No thread could be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[source] io::Error),
}

/// A data folder that this process alone works on: the database, its lock, the large bodies.
#[derive(Debug)]
pub(crate) struct DataFolder {
    database: PathBuf,
    /// Held as long as it lives. The system gives it back when the process ends, however it ends.
    lock: File,
    payloads: PathBuf,
}

impl DataFolder {
    /// Creates what is missing, for the owner's eyes only, and takes the lock.
    pub(crate) fn open_exclusive(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Folder {
            path: path.to_owned(),
            source,
        };
        let payloads = path.join("payloads");
        create_folder(path)
            .and_then(|()| create_folder(&payloads))
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
        // SQLite gives its other files the rights of this one.
        let database = path.join("recado.db");
        create_file(&database).map_err(failed)?;
        sync_folder(path).map_err(failed)?;
        Ok(Self {
            database,
            lock,
            payloads,
        })
    }

    /// The connection that writes, brought up to date.
    pub(crate) fn open_writer(&self) -> Result<Connection, OpenError> {
        let connection = Connection::open(&self.database)?;
        configure_connection(&connection)?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864")?;
        apply_migrations(&connection)?;
        Ok(connection)
    }

    /// A connection that only reads.
    pub(crate) fn open_reader(&self) -> Result<Connection, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.database, flags)?;
        configure_connection(&connection)?;
        Ok(connection)
    }

    /// Where large bodies lie.
    pub(crate) fn payload_folder(&self) -> PathBuf {
        self.payloads.clone()
    }

    /// The lock, for whoever works on the folder last.
    pub(crate) fn into_lock(self) -> File {
        self.lock
    }
}

/// A database in memory, brought up to date.
pub(crate) fn open_in_memory() -> Result<Connection, OpenError> {
    let connection = Connection::open_in_memory()?;
    configure_connection(&connection)?;
    apply_migrations(&connection)?;
    Ok(connection)
}

fn configure_connection(connection: &Connection) -> rusqlite::Result<()> {
    // Somebody may look into the file with SQLite's own shell.
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(128);
    // Plans must not depend on what is bound. Otherwise SQLite prepares a statement anew each time it is run whose table
    // has an index with a condition: half of all the time spent here.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch("PRAGMA temp_store = MEMORY")
}

fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    restrict_access(path)
}

fn create_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    restrict_access(path)?;
    Ok(file)
}

/// Closes to others what was there before.
fn restrict_access(path: &Path) -> io::Result<()> {
    if restrict_to_owner(path)? == FolderPrivacy::MadePrivate {
        let path = path.display();
        tracing::warn!(%path, "others could read or change this: now it is closed to them");
    }
    Ok(())
}

/// Makes new names in a folder survive a power loss.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    // Only Unix opens a folder as a file.
    if cfg!(unix) {
        File::open(path)?.sync_all()
    } else {
        Ok(())
    }
}
