//! Databases in memory, which are emptied and used again: making their tables takes longer than many a simulated history.

use crate::folder::{OpenError, open_in_memory};
use rusqlite::Connection;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Greatest number of databases that are kept.
const KEPT: usize = 16;

/// The emptied databases.
static EMPTY: Mutex<Vec<Connection>> = Mutex::new(Vec::new());

/// The version that SQLite gives the tables of a new database. Whatever changes the tables changes it.
static TABLES: OnceLock<i64> = OnceLock::new();

/// Returns an empty database in memory.
pub(super) fn take_database() -> Result<Connection, OpenError> {
    let kept = EMPTY.lock().unwrap_or_else(PoisonError::into_inner).pop();
    if let Some(connection) = kept {
        return Ok(connection);
    }
    let connection = open_in_memory()?;
    let tables = read_tables_version(&connection)?;
    TABLES.get_or_init(|| tables);
    Ok(connection)
}

/// Takes the database of a store that ends, and keeps it for the next one.
pub(super) fn take_back_database(connection: &mut Connection) {
    // A file's connection is closed as usual, and so is one that cannot be emptied.
    if connection.path().is_none_or(str::is_empty)
        && let Ok(nothing) = Connection::open_in_memory()
    {
        keep_database(std::mem::replace(connection, nothing));
    }
}

/// Empties a database, and keeps it for the next store.
fn keep_database(connection: Connection) {
    let unchanged = |version| TABLES.get() == Some(&version);
    let emptied = connection.is_autocommit()
        && read_tables_version(&connection).is_ok_and(unchanged)
        && empty_tables(&connection).is_ok();
    let mut empty = EMPTY.lock().unwrap_or_else(PoisonError::into_inner);
    if emptied && empty.len() < KEPT {
        empty.push(connection);
    }
}

fn read_tables_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA schema_version", [], |row| row.get(0))
}

/// Deletes all rows, and what SQLite remembers of the ids that it gave. The indexes of words empty their own tables.
fn empty_tables(connection: &Connection) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    let mut select = transaction.prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'sqlite_sequence'
                AND name NOT GLOB '*_words_*'",
    )?;
    let names = select.query_map([], |row| row.get::<_, String>(0))?;
    for name in names {
        transaction.execute(&format!("DELETE FROM \"{}\"", name?), [])?;
    }
    transaction.execute("DELETE FROM sqlite_sequence", [])?;
    drop(select);
    transaction.commit()
}
