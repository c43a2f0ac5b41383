//! Deletes and changes records of the table as their kinds say: at a start, after a clock was set back, and for an import.

use super::table::apply_writes;
use crate::db_error::{DbError, DbResult};
use crate::recovery::RecoveryCounts;
use crate::sql_records::{execute_sql, keep_readable, read_lossy_text};
use jiff::Timestamp;
use recado_domain::clock_rollback::ClockRollback;
use recado_ports::ports::PortResult;
use recado_ports::records::KINDS;
use recado_ports::table::{Kind, Write};
use rusqlite::Connection;

/// The items of all partitions of the name `?1`. Behind it a partition has `#`, which `$` follows.
const OF_NAME: &str = "partition >= ?1 || '#' AND partition < ?1 || '$'";

/// Deletes the records of the kinds that mean nothing later.
pub(super) fn delete_unmoved_records(db: &Connection) -> DbResult<()> {
    delete_some_kinds(db, |kind| !kind.is_moved)
}

/// Deletes the records of the kinds that every installation makes.
pub(super) fn delete_idle_records(db: &Connection) -> DbResult<()> {
    delete_some_kinds(db, |kind| kind.is_idle)
}

/// Deletes the records of some kinds, with what leads to them.
fn delete_some_kinds(db: &Connection, is_deleted: impl Fn(&Kind) -> bool) -> DbResult<()> {
    let sql = format!("DELETE FROM records WHERE {OF_NAME}");
    for kind in KINDS.iter().filter(|kind| is_deleted(kind)) {
        for name in std::iter::once(&kind.name).chain(kind.indexes) {
            execute_sql(db, &sql, [name])?;
        }
    }
    Ok(())
}

/// Sets the times of records back. Returns how many were changed.
pub(crate) fn set_records_back(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    update_timed_records(db, |kind, body| kind.set_times_back(body, back))
}

/// Frees what a process held by records that ended.
pub(crate) fn free_held_records(
    db: &Connection,
    now: Timestamp,
    counts: &mut RecoveryCounts,
) -> DbResult<()> {
    counts.records += update_timed_records(db, |kind, body| kind.free_held(body, now))?;
    Ok(())
}

/// Makes the writes that `change` asks for of each record of the kinds that have times. Returns of how many records there were some.
fn update_timed_records(
    db: &Connection,
    change: impl Fn(&Kind, &str) -> PortResult<Option<Vec<Write>>>,
) -> DbResult<usize> {
    let mut count = 0;
    for kind in KINDS.iter().filter(|kind| kind.has_times) {
        for body in select_timed_bodies(db, kind)? {
            let changed =
                change(kind, &body).map_err(|_| DbError::Argument("a record that its kind cannot read"));
            if let Some(writes) = keep_readable(kind.name, changed)?.flatten() {
                apply_writes(db, &writes)?;
                count += 1;
            }
        }
    }
    Ok(count)
}

/// Returns the records of a kind that may have times.
fn select_timed_bodies(db: &Connection, kind: &Kind) -> DbResult<Vec<String>> {
    let due = if kind.has_times_while_due {
        "AND due IS NOT NULL"
    } else {
        ""
    };
    let mut statement = db.prepare_cached(&format!("SELECT body FROM records WHERE {OF_NAME} {due}"))?;
    let bodies = statement.query_map([kind.name], |row| read_lossy_text(row, 0))?;
    let bodies: Vec<Option<String>> = bodies.collect::<rusqlite::Result<_>>()?;
    Ok(bodies.into_iter().flatten().collect())
}
