//! The values of the installation: one row each, under its name.

use crate::db_error::DbResult;
use crate::sql_records::{query_one_value, run_sql_statement};
use rusqlite::{Connection, params};

/// The name under which the installation keeps the name of the export that it is taking.
pub(crate) const TAKING: &str = "import-begun";

/// Returns a value of the installation.
pub(crate) fn read_value(db: &Connection, name: &str) -> DbResult<Option<String>> {
    query_one_value(db, "SELECT value FROM installation WHERE name = ?1", [name])
}

/// Returns a value of the installation that is a number.
pub(crate) fn read_number(db: &Connection, name: &str) -> DbResult<Option<i64>> {
    let sql = "SELECT CAST(value AS INTEGER) FROM installation WHERE name = ?1";
    query_one_value(db, sql, [name])
}

/// Writes a value of the installation.
pub(crate) fn write_value(db: &Connection, name: &str, value: &str) -> DbResult<()> {
    let sql = "INSERT OR REPLACE INTO installation (name, value) VALUES (?1, ?2)";
    run_sql_statement(db, sql, params![name, value])
}

/// Deletes a value of the installation.
pub(crate) fn delete_value(db: &Connection, name: &str) -> DbResult<()> {
    run_sql_statement(db, "DELETE FROM installation WHERE name = ?1", [name])
}

/// Returns `true` if the database holds a part of an export only.
pub(crate) fn has_unfinished_import(db: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM installation WHERE name = ?1";
    db.prepare(sql)?.exists([TAKING])
}
