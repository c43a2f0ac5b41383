use crate::file_permissions::{FolderPrivacy, restrict_to_owner};
use crate::files::delete_unfinished;
use crate::format::{check_intake, check_tables, prepare_intake, prepare_tables};
use crate::open_error::OpenError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The file that a data folder holds until everything of the backup is in it. A start refuses such a folder.
pub(crate) const UNFINISHED_RESTORE: &str = "unfinished-restore";

/// A data folder on which only this process works: the database, its lock, the large bodies and the files.
#[derive(Debug)]
pub(crate) struct DataFolder {
    database: PathBuf,
    /// The intake log.
    intake: PathBuf,
    /// The lock on the folder, held as long as this value lives. The system releases it when the process ends, however
    /// it ends.
    lock: File,
    payloads: PathBuf,
    files: PathBuf,
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

    /// Returns the folder of the large bodies.
    pub(crate) fn payload_folder(&self) -> PathBuf {
        self.payloads.clone()
    }

    /// Returns the folder of the bytes of files.
    pub(crate) fn file_folder(&self) -> PathBuf {
        self.files.clone()
    }

    /// Returns the lock, for the thread that works on the folder last.
    pub(crate) fn into_lock(self) -> File {
        self.lock
    }
}

/// Opens a connection that writes. Checkpoints have a thread of their own. A file that `check` refuses is left as it is.
fn open_writing(
    file: &Path,
    check: impl FnOnce(&Connection) -> Result<(), OpenError>,
) -> Result<Connection, OpenError> {
    let connection = Connection::open(file)?;
    configure_connection(&connection)?;
    // Otherwise the end of the connection would copy the log into a file that is refused.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    check(&connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    // What is deleted is overwritten, also in pages that become free. So what a webhook brought and nobody keeps is not readable behind
    // the rows of others.
    connection.query_row("PRAGMA secure_delete = ON", [], |_| Ok(()))?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 0",
    )?;
    Ok(connection)
}

/// Checks that this program opens the database of a folder, and only reads it.
pub(crate) fn check_format(folder: &Path) -> Result<(), OpenError> {
    check_tables(&open_reading(&folder.join("recado.db"))?)
}

/// Opens a connection that copies a log into its database.
fn open_copying(file: &Path) -> Result<Connection, OpenError> {
    let connection = Connection::open(file)?;
    configure_connection(&connection)?;
    connection.execute_batch("PRAGMA synchronous = FULL")?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(crate) fn open_reading(file: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    configure_connection(&connection)?;
    // After each commit of the writer the cache is empty again, so a large one would only take memory.
    connection.execute_batch("PRAGMA cache_size = -256")?;
    Ok(connection)
}

/// Opens a database in memory.
pub(crate) fn open_in_memory() -> Result<Connection, OpenError> {
    let connection = Connection::open_in_memory()?;
    configure_connection(&connection)?;
    prepare_tables(&connection)?;
    Ok(connection)
}

fn configure_connection(connection: &Connection) -> rusqlite::Result<()> {
    // Somebody may look into the file with SQLite's own shell.
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(128);
    // Plans must not depend on the bound values. Otherwise SQLite prepares a statement again at each run if its table
    // has an index with a condition: that was half of all the time spent here.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch("PRAGMA temp_store = MEMORY")
}

/// Creates a folder if it is missing, with those above it, so that their names survive a power loss.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    create_folder_with(path, sync_folder)
}

/// Creates a folder, and calls `sync` with each folder that got a new name, the outermost first.
fn create_folder_with(path: &Path, mut sync: impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    for above in missing.iter().rev().filter_map(|made| made.parent()) {
        let is_here = above.as_os_str().is_empty();
        match sync(if is_here { Path::new(".") } else { above }) {
            // Who may make names in a folder need not be allowed to open it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
    }
    restrict_access(path)
}

pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    restrict_access(path)?;
    Ok(file)
}

/// Removes other users' access to an existing file or folder, and logs a warning if there was any.
fn restrict_access(path: &Path) -> io::Result<()> {
    if restrict_to_owner(path)? == FolderPrivacy::MadePrivate {
        let path = path.display();
        tracing::warn!(%path, "other users could read or change this: it is closed to them now");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_that_got_a_new_name_is_synced() {
        let top = std::env::temp_dir().join(format!("recado-names-{}", std::process::id()));
        std::fs::create_dir(&top).unwrap();
        let (outer, inner) = (top.join("a"), top.join("a/b"));
        let create = || {
            let mut synced = Vec::new();
            let note = |path: &Path| {
                assert!(inner.exists(), "the names are there before they are synced");
                synced.push(path.to_owned());
                Ok(())
            };
            create_folder_with(&inner, note).unwrap();
            synced
        };
        let (first, second) = (create(), create());
        std::fs::remove_dir_all(&top).unwrap();
        assert_eq!(first, [top, outer]);
        assert!(second.is_empty(), "nothing is new");
    }
}
