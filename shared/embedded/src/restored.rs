//! The first start on a data folder that comes from a backup.
//!
//! The records say what was to be done when the backup was taken. What was done since then, they do not know. So nothing that
//! was open then is done from memory: a message is looked for at the provider first, and what cannot be looked for waits for a
//! person. How: `docs/server.md`.

use crate::Embedded;
use crate::clock_set_back::CLOCK_AT;
use crate::db_error::DbResult;
use crate::installation_values::{delete_value, read_number, write_value};
use crate::sql_records::execute_sql;
use crate::store::{RestoredCounts, doubt_restored_rows};
use jiff::Timestamp;
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::millis::from_unix_millis;
use recado_ports::ports::PortResult;
use rusqlite::{Connection, params};

/// The name under which a backup keeps its time. The first start on it removes that.
const TAKEN_AT: &str = "backup-taken-at";

/// The name under which the installation keeps the time at which it last went on from a backup.
const RESTORED_AT: &str = "restored-at";

/// Notes in the copy of the records when it was taken.
pub(crate) fn note_backup_time(copy: &Connection, taken_at: Timestamp) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO installation (name, value) VALUES (?1, ?2)";
    let at = taken_at.as_millisecond().to_string();
    copy.execute(sql, params![TAKEN_AT, at]).map(drop)
}

fn read_time(db: &Connection, name: &str) -> DbResult<Option<Timestamp>> {
    Ok(read_number(db, name)?.map(from_unix_millis))
}

/// Doubts what was open, if the records come from a backup on which no start went on yet.
fn resume_rows(db: &Connection, now: Timestamp) -> DbResult<Option<RestoredCounts>> {
    let Some(taken_at) = read_time(db, TAKEN_AT)? else {
        return Ok(None);
    };
    let counts = doubt_restored_rows(db, taken_at, now)?;
    delete_value(db, TAKEN_AT)?;
    write_value(db, RESTORED_AT, &now.as_millisecond().to_string())?;
    Ok(Some(counts))
}

/// Sets the times that the installation noted of itself back to now, if they lie ahead.
pub(crate) fn reset_installation_times(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let sql = "UPDATE installation SET value = ?3
        WHERE name IN (?1, ?2) AND CAST(value AS INTEGER) > CAST(?3 AS INTEGER)";
    let now = back.now.as_millisecond().to_string();
    execute_sql(db, sql, params![RESTORED_AT, CLOCK_AT, now])
}

impl Embedded {
    /// Doubts what was open when the backup was taken from which this folder comes. `None`: it does not come from a backup, or an
    /// earlier start did so. To be called once, before anything else is done.
    pub async fn resume_from_backup(&self) -> PortResult<Option<RestoredCounts>> {
        let now = self.current_time();
        let resumed = self.run_write("resume_from_backup", move |db| resume_rows(db, now));
        resumed.await
    }

    /// Returns `true` if the folder comes from a backup, and no start went on from it yet.
    pub async fn is_unstarted_backup(&self) -> PortResult<bool> {
        let found = self.run_lookup("backup_time", |db| read_time(db, TAKEN_AT));
        Ok(found.await?.is_some())
    }

    /// Returns the time at which the installation last went on from a backup.
    pub async fn find_restore_time(&self) -> PortResult<Option<Timestamp>> {
        let found = self.run_lookup("restore_time", |db| read_time(db, RESTORED_AT));
        found.await
    }
}
