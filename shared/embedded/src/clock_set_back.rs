//! Corrects stored times after the machine's clock ran ahead and was set back. Otherwise work would wait until the
//! clock reaches those times again.

use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{decode_column, encode_json, execute_sql, keep_readable, name_table};
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

/// Corrects the records that `sql` selects (row number and body). `change` changes a record and returns whether `put`
/// must store it. Returns how many were stored. A record that cannot be read is logged and left unchanged.
fn update_records<T: DeserializeOwned>(
    connection: &Connection,
    sql: &str,
    change: impl Fn(&mut T) -> bool,
    put: impl Fn(i64, &T) -> Result<(), DbError>,
) -> Result<usize, DbError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut found: Vec<(i64, T)> = Vec::new();
    while let Some(row) = rows.next()? {
        let record = keep_readable(name_table(sql), decode_column(row, 1))?;
        found.extend(
            record
                .map(|record| row.get(0).map(|number| (number, record)))
                .transpose()?,
        );
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

fn reset_queue_times(connection: &Connection, back: ClockRollback) -> Result<usize, DbError> {
    let now = [back.now.as_millisecond()];
    // A message with a name is a turn job that waits for the opening hours. If its time is wrong now, `reconcile`
    // enqueues the turn.
    let held = "UPDATE queue_messages SET visible_at = ?1
        WHERE visible_at > ?1 AND dead_at IS NULL AND name IS NULL";
    let count = execute_sql(connection, held, now)?;
    for sql in [
        "UPDATE queue_messages SET sent_at = ?1 WHERE sent_at > ?1",
        "UPDATE queue_groups SET free_at = ?1 WHERE free_at > ?1",
        "UPDATE queue_dedup SET until = ?1 WHERE until > ?1",
    ] {
        execute_sql(connection, sql, now)?;
    }
    Ok(count)
}

fn reset_conversations(connection: &Connection, back: ClockRollback) -> Result<usize, DbError> {
    let put = |_, conversation: &Conversation| {
        ConversationRow::from_conversation(conversation)?.write_row(connection, back.now)
    };
    let now = back.now.as_millisecond();
    let sql = format!(
        "SELECT rowid, body FROM conversations WHERE last_at > {now} OR due > {now}
            OR CASE WHEN json_valid(body) THEN json_extract(body, '$.lease.until') END > {now} OR CASE WHEN json_valid(body) THEN json_extract(body, '$.pair_arrival') END > {now}
            OR CASE WHEN json_valid(body) THEN json_extract(body, '$.reengaged.at') END > {now}"
    );
    update_records(
        connection,
        &sql,
        |conversation| back.correct_conversation(conversation),
        put,
    )
}

fn reset_messages(connection: &Connection, back: ClockRollback) -> Result<usize, DbError> {
    let put = |_, message: &Message| MessageRow::from_message(message)?.write_row(connection, back.now);
    let sql = "SELECT rowid, body FROM messages WHERE open = 1";
    update_records(connection, sql, |message| back.correct_message(message), put)
}

fn reset_instance_states(connection: &Connection, back: ClockRollback) -> Result<usize, DbError> {
    let put = |row, state: &InstanceState| {
        let due = state.index_time().map(Timestamp::as_millisecond);
        let sql = "UPDATE instance_states SET due = ?2, body = ?3 WHERE rowid = ?1";
        execute_sql(connection, sql, params![row, due, encode_json(state)?]).map(drop)
    };
    let sql = "SELECT rowid, body FROM instance_states";
    update_records(connection, sql, |state| back.correct_instance(state), put)
}

fn reset_parked(connection: &Connection, back: ClockRollback) -> Result<usize, DbError> {
    let put = |row, parked: &ParkedConversation| {
        let (since, due) = (
            parked.since.as_millisecond(),
            parked.release_due_at().as_millisecond(),
        );
        let sql = "UPDATE parked SET since = ?2, due = ?3, body = ?4 WHERE rowid = ?1";
        execute_sql(connection, sql, params![row, since, due, encode_json(parked)?]).map(drop)
    };
    let sql = "SELECT rowid, body FROM parked";
    update_records(connection, sql, |parked| back.correct_parked(parked), put)
}

fn reset_in_flight(connection: &Connection, back: ClockRollback) -> Result<usize, DbError> {
    let put = |row, flight: &InFlightSend| {
        let sql = "UPDATE in_flight SET body = ?2 WHERE rowid = ?1";
        execute_sql(connection, sql, params![row, encode_json(flight)?]).map(drop)
    };
    let sql = "SELECT rowid, body FROM in_flight";
    update_records(connection, sql, |flight| back.correct_in_flight(flight), put)
}

fn reset_events(connection: &Connection, back: ClockRollback) -> Result<usize, DbError> {
    let put = |row, event: &EventRecord| {
        let due = event.overdue_at().map(Timestamp::as_millisecond);
        let sql = "UPDATE events SET due = ?2, body = ?3 WHERE rowid = ?1";
        execute_sql(connection, sql, params![row, due, encode_json(event)?]).map(drop)
    };
    let sql = "SELECT rowid, body FROM events WHERE due IS NOT NULL";
    update_records(connection, sql, |event| back.correct_event(event), put)
}

fn reset_all_times(connection: &Connection, back: ClockRollback) -> Result<usize, DbError> {
    let mut count = 0;
    for part in [
        reset_queue_times,
        reset_conversations,
        reset_messages,
        reset_instance_states,
        reset_parked,
        reset_in_flight,
        reset_events,
    ] {
        count += part(connection, back)?;
    }
    Ok(count)
}

/// Returns the latest time that this machine's clock has given the records, in milliseconds.
fn latest_recorded_time(connection: &Connection) -> Result<Option<i64>, DbError> {
    let sql = "SELECT MAX(at) FROM (SELECT MAX(last_at) AS at FROM conversations
        UNION ALL SELECT MAX(CASE WHEN json_valid(body) THEN json_extract(body, '$.confirmed_at') END) FROM instance_states)";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

impl Embedded {
    /// Corrects all stored times that lie ahead of the clock, after the clock was set back. To be called when no send
    /// that began before then is still running. Returns how many records and queue messages were changed.
    pub async fn adjust_to_set_back_clock(&self) -> PortResult<usize> {
        self.wait_for_intake("set_back").await?;
        let back = ClockRollback {
            now: self.current_time(),
        };
        self.run_write("set_back", move |c| reset_all_times(c, back))
            .await
    }

    /// Returns how far the clock is behind the latest stored time. A large lag means that the clock was set back while
    /// no process was running.
    pub async fn measure_clock_lag(&self) -> PortResult<Duration> {
        let now = self.current_time();
        let latest = self.run_read("behind", latest_recorded_time).await?;
        let ahead = latest.map_or(0, |at| at.saturating_sub(now.as_millisecond()));
        Ok(Duration::from_millis(u64::try_from(ahead).unwrap_or(0)))
    }
}
