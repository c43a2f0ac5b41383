//! The connections to the databases of a data folder, and to databases in memory.

use super::format::prepare_tables;
use super::open_error::OpenError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// Opens a connection that writes. Checkpoints have a thread of their own. A file that `check` refuses is left as it is.
pub(super) fn open_writing(
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

/// Opens a connection that copies a log into its database.
pub(super) fn open_copying(file: &Path) -> Result<Connection, OpenError> {
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
