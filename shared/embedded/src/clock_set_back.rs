//! Corrects stored times after the machine's clock ran ahead and was set back. Otherwise work would wait until the
//! clock reaches those times again.

use crate::Embedded;
use crate::db_error::DbResult;
use crate::sql_records::{
    decode_column, encode_json, execute_sql, keep_readable, name_table, query_one_value, run_sql_statement,
};
use crate::store::{ConversationRow, MessageRow};
use jiff::Timestamp;
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::conversation::Conversation;
use recado_domain::event::EventRecord;
use recado_domain::instance::{InFlightSend, InstanceState, ParkedConversation};
use recado_domain::message::Message;
use recado_ports::ports::PortResult;
use rusqlite::{Connection, params};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// Changes the records that `sql` selects (`rowid` and body). `change` changes a record and returns whether `put` must store it. Returns
/// how many were stored. A record that cannot be read is logged and left unchanged.
pub(crate) fn update_records<T: DeserializeOwned>(
    db: &Connection,
    sql: &str,
    mut change: impl FnMut(&mut T) -> bool,
    put: impl Fn(i64, &T) -> DbResult<()>,
) -> DbResult<usize> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut found: Vec<(i64, T)> = Vec::new();
    while let Some(row) = rows.next()? {
        if let Some(record) = keep_readable(name_table(sql), decode_column(row, 1))? {
            found.push((row.get(0)?, record));
        }
    }
    let mut count = 0;
    for (row, mut record) in found {
        if change(&mut record) {
            put(row, &record)?;
            count += 1;
        }
    }
    Ok(count)
}

pub(crate) fn reset_queue_messages(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let now = [back.now.as_millisecond()];
    // A message with a name is a turn job that waits for the opening hours. If its time is wrong now, `reconcile`
    // enqueues the turn.
    let held = "UPDATE queue_messages SET visible_at = ?1
        WHERE visible_at > ?1 AND dead_at IS NULL AND name IS NULL";
    let count = execute_sql(db, held, now)?;
    let sql = "UPDATE queue_messages SET sent_at = ?1 WHERE sent_at > ?1";
    execute_sql(db, sql, now)?;
    Ok(count)
}

/// Sets the times of groups back. They are those of messages, which are counted.
pub(crate) fn reset_queue_groups(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let sql = "UPDATE queue_groups SET free_at = ?1 WHERE free_at > ?1";
    execute_sql(db, sql, [back.now.as_millisecond()]).map(|_| 0)
}

/// Sets the ends of marks back by which a message is enqueued once. Nothing waits for them.
pub(crate) fn reset_queue_dedup(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let sql = "UPDATE queue_dedup SET until = ?1 WHERE until > ?1";
    execute_sql(db, sql, [back.now.as_millisecond()]).map(|_| 0)
}

/// The fields of a conversation that may lie ahead where none of its columns does.
const CONVERSATION_TIMES: [&str; 11] = [
    "lease.until",
    "contact.pair_arrival",
    "features.reengaged.at",
    "contact.picture.asked_at",
    "features.thread_hold.at",
    "limits.paused_until",
    "agent_returns_at",
    "opening.closed_told_at",
    "nudges.nudged_at",
    "waiting_since",
    "opening.scheduled_for",
];

pub(crate) fn reset_conversations(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let put = |_: i64, conversation: &Conversation| {
        ConversationRow::from_conversation(conversation)?.write_row(db, back.now)
    };
    let now = back.now.as_millisecond();
    let ahead = CONVERSATION_TIMES.map(|field| {
        format!("OR CASE WHEN json_valid(body) THEN json_extract(body, '$.{field}') END > {now}")
    });
    let sql = format!(
        "SELECT rowid, body FROM conversations WHERE last_at > {now} OR due > {now} {}",
        ahead.join(" ")
    );
    let change = |conversation: &mut Conversation| back.correct_conversation(conversation);
    update_records(db, &sql, change, put)
}

/// Sets back the times of messages to be sent, and of files to be fetched or read.
pub(crate) fn reset_messages(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let put = |_: i64, message: &Message| MessageRow::from_message(message)?.write_row(db, back.now);
    let now = back.now.as_millisecond();
    let of_files = format!("SELECT rowid, body FROM messages WHERE open = 0 AND due > {now}");
    let mut count = 0;
    for sql in ["SELECT rowid, body FROM messages WHERE open = 1", &of_files] {
        count += update_records(db, sql, |message| back.correct_message(message), put)?;
    }
    Ok(count)
}

pub(crate) fn reset_instance_states(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let put = |row: i64, state: &InstanceState| {
        let due = state.index_time().map(Timestamp::as_millisecond);
        let sql = "UPDATE instance_states SET due = ?2, body = ?3 WHERE rowid = ?1";
        run_sql_statement(db, sql, params![row, due, encode_json(state)?])
    };
    let sql = "SELECT rowid, body FROM instance_states";
    update_records(db, sql, |state| back.correct_instance(state), put)
}

pub(crate) fn reset_parked(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let put = |row: i64, parked: &ParkedConversation| {
        let since = parked.since.as_millisecond();
        let due = parked.release_due_at().as_millisecond();
        let sql = "UPDATE parked SET since = ?2, due = ?3, body = ?4 WHERE rowid = ?1";
        run_sql_statement(db, sql, params![row, since, due, encode_json(parked)?])
    };
    let sql = "SELECT rowid, body FROM parked";
    update_records(db, sql, |parked| back.correct_parked(parked), put)
}

pub(crate) fn reset_in_flight(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let put = |row: i64, flight: &InFlightSend| write_in_flight(db, row, flight);
    let sql = "SELECT rowid, body FROM in_flight";
    update_records(db, sql, |flight| back.correct_in_flight(flight), put)
}

/// Replaces the note of a send that is under way.
pub(crate) fn write_in_flight(db: &Connection, row: i64, flight: &InFlightSend) -> DbResult<()> {
    let sql = "UPDATE in_flight SET body = ?2 WHERE rowid = ?1";
    run_sql_statement(db, sql, params![row, encode_json(flight)?])
}

pub(crate) fn reset_events(db: &Connection, back: ClockRollback) -> DbResult<usize> {
    let put = |row: i64, event: &EventRecord| {
        let due = event.overdue_at().map(Timestamp::as_millisecond);
        let sql = "UPDATE events SET due = ?2, body = ?3 WHERE rowid = ?1";
        run_sql_statement(db, sql, params![row, due, encode_json(event)?])
    };
    let sql = "SELECT rowid, body FROM events WHERE due IS NOT NULL";
    update_records(db, sql, |event| back.correct_event(event), put)
}

/// The name under which the installation keeps the latest time at which it ran.
pub(crate) const CLOCK_AT: &str = "clock-at";

/// Returns the latest time that this machine's clock has given the records, in milliseconds.
fn latest_recorded_time(db: &Connection) -> DbResult<Option<i64>> {
    let sql = "SELECT MAX(at) FROM (SELECT MAX(last_at) AS at FROM conversations
        UNION ALL SELECT MAX(CASE WHEN json_valid(body) THEN json_extract(body, '$.confirmed_at') END) FROM instance_states
        UNION ALL SELECT CAST(value AS INTEGER) FROM installation WHERE name = ?1)";
    Ok(query_one_value(db, sql, [CLOCK_AT])?.flatten())
}

impl Embedded {
    /// Returns how far the clock is behind the latest stored time. A large lag means that the clock was set back while
    /// no process was running.
    pub async fn measure_clock_lag(&self) -> PortResult<Duration> {
        let now = self.current_time();
        let latest = self.run_read("behind", latest_recorded_time).await?;
        let ahead = latest.map_or(0, |at| at.saturating_sub(now.as_millisecond()));
        Ok(Duration::from_millis(u64::try_from(ahead).unwrap_or(0)))
    }

    /// Notes the time of the clock, for [`Self::measure_clock_lag`] of the next start. To be called every minute: what waits may have times
    /// of a clock that ran ahead where no message and no instance has any.
    pub async fn note_clock(&self) -> PortResult<()> {
        let at = self.current_time().as_millisecond().to_string();
        let note = move |db: &Connection| {
            // A later time stays until the times are corrected.
            let sql = "INSERT INTO installation (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
                WHERE CAST(value AS INTEGER) < CAST(excluded.value AS INTEGER)";
            run_sql_statement(db, sql, params![CLOCK_AT, at])
        };
        self.run_write("note_clock", note).await
    }
}
