//! The list of the tables in which something waits for a time, or is held until one.
//!
//! Three readers go through this one list: the query of overdue work, the correction after a clock was set back, and the recovery
//! at a start. A test fails when a column of a table or a field of a record has a time that this list does not know.

use crate::Embedded;
use crate::clock_set_back as set_back;
use crate::db_error::DbResult;
use crate::recovery::{self, RecoveryCounts};
use crate::restored::reset_installation_times;
use crate::store::{free_held_records, set_records_back};
use jiff::Timestamp;
use recado_domain::clock_rollback::ClockRollback;
use recado_ports::ports::PortResult;
use rusqlite::Connection;

/// A part of the correction after a clock was set back. Returns how many records it changed.
type SetBack = fn(&Connection, ClockRollback) -> DbResult<usize>;

/// A part of the recovery: frees what a process held that ended.
type Free = fn(&Connection, Timestamp, &mut RecoveryCounts) -> DbResult<()>;

/// Rows that are work once they are overdue by their column `due`. It is the name of their kind, the columns that name one (a text,
/// and a number that is 0 where the text says all), and a further condition, if there is one.
type OverdueRows = (&'static str, &'static str, &'static str);

/// A table, and what is done about the times in its rows.
pub(crate) struct TimedTable {
    /// Its name in the database.
    pub(crate) name: &'static str,
    /// The rows that are work once they are overdue.
    pub(crate) overdue: &'static [OverdueRows],
    /// Sets times that lie ahead back to now.
    set_back: SetBack,
    /// Frees what a process held that ended; `None` where nothing is held.
    pub(crate) free: Option<Free>,
}

impl TimedTable {
    const fn new(name: &'static str, set_back: SetBack) -> Self {
        Self {
            name,
            overdue: &[],
            set_back,
            free: None,
        }
    }

    const fn with_overdue(self, overdue: &'static [OverdueRows]) -> Self {
        Self { overdue, ..self }
    }

    const fn freed_by(self, free: Free) -> Self {
        Self {
            free: Some(free),
            ..self
        }
    }
}

/// The tables, in the order in which they are corrected and freed.
pub(crate) static TIMED_TABLES: [TimedTable; 11] = [
    TimedTable::new("queue_messages", set_back::reset_queue_messages).freed_by(recovery::free_queue_messages),
    TimedTable::new("queue_groups", set_back::reset_queue_groups),
    TimedTable::new("queue_dedup", set_back::reset_queue_dedup),
    TimedTable::new("conversations", set_back::reset_conversations)
        .with_overdue(&[("owed", "id, 0", "")])
        .freed_by(recovery::free_conversations),
    TimedTable::new("messages", set_back::reset_messages)
        .with_overdue(&[
            ("outgoing", "conversation, ordinal", "AND open = 1"),
            ("file", "conversation, ordinal", "AND open = 0"),
        ])
        .freed_by(recovery::free_messages),
    TimedTable::new("instance_states", set_back::reset_instance_states)
        .with_overdue(&[("probe", "id, 0", "")]),
    TimedTable::new("parked", set_back::reset_parked).with_overdue(&[("parked", "body, 0", "")]),
    TimedTable::new("in_flight", set_back::reset_in_flight).freed_by(recovery::free_in_flight),
    TimedTable::new("events", set_back::reset_events).with_overdue(&[("event", "id, 0", "")]),
    TimedTable::new("records", set_records_back).freed_by(free_held_records),
    TimedTable::new("installation", reset_installation_times),
];

/// Writes the query for overdue work. Each kind gives its own longest overdue records, so that many of one do not hide the others.
pub(crate) fn write_overdue_query() -> String {
    let select = |table: &str, (kind, name, condition): &OverdueRows| {
        format!(
            "SELECT * FROM (SELECT '{kind}', {name}, due FROM {table} WHERE due <= ?1 {condition} ORDER BY due LIMIT ?2)"
        )
    };
    let of_table = |table: &TimedTable| {
        table
            .overdue
            .iter()
            .map(|rows| select(table.name, rows))
            .collect::<Vec<_>>()
    };
    let selects: Vec<String> = TIMED_TABLES.iter().flat_map(of_table).collect();
    format!("{} ORDER BY 4, 1, 2, 3", selects.join(" UNION ALL "))
}

fn set_all_times_back(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let parts = TIMED_TABLES.iter().map(|table| table.set_back);
    parts.map(|part| part(db, back)).sum()
}

fn recover_rows(db: &Connection, now: Timestamp) -> DbResult<RecoveryCounts> {
    let mut counts = RecoveryCounts::default();
    for free in TIMED_TABLES.iter().filter_map(|table| table.free) {
        free(db, now, &mut counts)?;
    }
    Ok(counts)
}

impl Embedded {
    /// Corrects all stored times that lie ahead of the clock, after the clock was set back. To be called when no send
    /// that began before then is still running. Returns how many records and queue messages were changed.
    pub async fn adjust_to_set_back_clock(&self) -> PortResult<usize> {
        self.wait_for_intake("set_back").await?;
        let back = ClockRollback {
            now: self.current_time(),
        };
        self.run_write("set_back", move |db| set_all_times_back(db, back))
            .await
    }

    /// Takes over from a process that did not end by [`Self::shut_down`]. Hands its queue messages out again, frees what it
    /// held, and marks sends that it had begun as of unknown outcome. To be called once, before any worker starts.
    pub async fn recover_after_crash(&self) -> PortResult<RecoveryCounts> {
        let now = self.current_time();
        self.run_write("recovery", move |db| recover_rows(db, now)).await
    }
}

#[cfg(test)]
mod tests;
