//! The note that a database holds a part of an export only.

use rusqlite::Connection;

/// The name under which the installation keeps the name of the export that it is taking.
pub(crate) const TAKING: &str = "import-begun";

/// Returns `true` if the database holds a part of an export.
pub(crate) fn has_unfinished_import(db: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM installation WHERE name = ?1";
    db.prepare(sql)?.exists([TAKING])
}
