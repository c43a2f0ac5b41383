//! The values of the installation: one row each, under its name.

use crate::db_error::DbError;
use crate::sql_records::{execute_sql, query_readable};
use rusqlite::{Connection, params};
use serde::de::DeserializeOwned;

/// Writes a value of the installation.
pub(super) fn write_installation_value(
    connection: &Connection,
    name: &str,
    value: &str,
) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO installation (name, value) VALUES (?1, ?2)";
    execute_sql(connection, sql, params![name, value]).map(drop)
}

/// Reads a value of the installation; `None` also if it cannot be read, so that it can be written anew.
pub(super) fn select_installation_value<T: DeserializeOwned>(
    connection: &Connection,
    name: &str,
) -> Result<Option<T>, DbError> {
    query_readable(
        connection,
        "SELECT value FROM installation WHERE name = ?1",
        [name],
    )
}
