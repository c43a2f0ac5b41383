//! The values of the installation: one row each, under its name.

use crate::db_error::DbResult;
use crate::sql_records::run_sql;
use rusqlite::{Connection, params};

/// Writes a value of the installation.
pub(super) fn write_installation_value(db: &Connection, name: &str, value: &str) -> DbResult<()> {
    let sql = "INSERT OR REPLACE INTO installation (name, value) VALUES (?1, ?2)";
    run_sql(db, sql, params![name, value])
}
