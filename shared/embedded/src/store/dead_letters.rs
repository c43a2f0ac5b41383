//! Dead letters that are stored in the transaction of what is given up.

use super::table::{apply_writes, select_item};
use crate::db_error::{DbError, DbResult};
use jiff::Timestamp;
use recado_domain::dead_letter::DeadLetter;
use recado_ports::records::dead_letters::{build_index_key, build_replacement, is_later_failure};
use recado_ports::table::StoredItem;
use rusqlite::Connection;

/// Stores a dead letter, unless that of the same failure or of a later one is stored under its id.
pub(crate) fn put_newer_letter(db: &Connection, dead_letter: &DeadLetter, now: Timestamp) -> DbResult<()> {
    let known = select_item(db, &build_index_key(&dead_letter.id), now)?;
    if is_later_failure(dead_letter, known.as_ref()) {
        write_dead_letter(db, dead_letter, known.as_ref())?;
    }
    Ok(())
}

/// Stores a dead letter in place of any other that has its id.
pub(super) fn replace_letter(db: &Connection, dead_letter: &DeadLetter, now: Timestamp) -> DbResult<()> {
    let known = select_item(db, &build_index_key(&dead_letter.id), now)?;
    write_dead_letter(db, dead_letter, known.as_ref())
}

fn write_dead_letter(db: &Connection, dead_letter: &DeadLetter, known: Option<&StoredItem>) -> DbResult<()> {
    let writes = build_replacement(dead_letter, known);
    let writes = writes.map_err(|_| DbError::Argument("a dead letter that no record holds"))?;
    apply_writes(db, &writes).map(drop)
}
