//! The rows of events, in their table and in the intake log.

use crate::db_error::DbError;
use crate::payloads::payload_file_name;
use crate::sql_records::{encode_json, execute_sql, read_lossy_text};
use crate::store::event_states::{RecordedEvent, StoredEventState, select_event_state};
use jiff::Timestamp;
use recado_domain::event::{EventPayload, EventRecord, EventState};
use rusqlite::{Connection, Row, params};
use serde::Serialize;
use std::borrow::Borrow;

/// A row of the table of events.
#[derive(Debug)]
pub(crate) struct EventRow {
    id: String,
    due: Option<i64>,
    expires: Option<i64>,
    payload: Option<String>,
    body: String,
    correlation: String,
}

impl EventRow {
    /// Makes the row of `record`. Only applied events have an `expires`: pending and dead ones stay.
    pub(crate) fn from_record<P: Borrow<EventPayload> + Serialize>(
        record: &EventRecord<P>,
        expires: Option<Timestamp>,
    ) -> Result<Self, DbError> {
        let body: &EventPayload = record.job.payload.borrow();
        let payload = match body {
            EventPayload::Stored(key) => Some(payload_file_name(key)),
            EventPayload::Inline(_) => None,
        };
        Ok(Self {
            id: record.job.event.as_str().to_owned(),
            due: record.overdue_at().map(Timestamp::as_millisecond),
            expires: expires.map(Timestamp::as_millisecond),
            payload,
            body: encode_json(record)?,
            correlation: record.job.correlation.as_str().to_owned(),
        })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the record, as JSON.
    pub(crate) fn body(&self) -> &str {
        &self.body
    }

    /// Appends the row of a new event to the intake log. Returns `false` if the event is in the log already.
    pub(crate) fn append_to_log(
        &self,
        connection: &Connection,
        group: &str,
        owner: &str,
    ) -> Result<bool, DbError> {
        let sql = "INSERT INTO intake (id, due, payload, body, correlation, grp, owner)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING";
        let (id, due, payload, body) = (&self.id, self.due, &self.payload, &self.body);
        let values = params![id, due, payload, body, self.correlation, group, owner];
        Ok(execute_sql(connection, sql, values)? == 1)
    }

    /// Reads the row of a new event from the intake log.
    pub(crate) fn from_log_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |name| read_lossy_text(row, row.as_ref().column_index(name)?);
        Ok(Self {
            id: text("id")?.unwrap_or_default(),
            due: row.get("due").unwrap_or_default(),
            expires: None,
            payload: text("payload")?,
            body: text("body")?.unwrap_or_default(),
            correlation: text("correlation")?.unwrap_or_default(),
        })
    }

    /// Adds the row of a new event, unless the event is known.
    pub(crate) fn insert_new(
        &self,
        connection: &Connection,
        now: Timestamp,
    ) -> Result<RecordedEvent, DbError> {
        if self.run_insert(connection, "ON CONFLICT (id) DO NOTHING")? == 1 {
            return Ok(RecordedEvent::New(connection.last_insert_rowid()));
        }
        match select_event_state(connection, &self.id, now)? {
            Some(StoredEventState::Readable(EventState::Pending)) => Ok(RecordedEvent::Pending),
            // What is owed can be done again: the repeat brought all that it needs.
            Some(StoredEventState::UnreadablePending) => {
                self.write_row(connection)?;
                Ok(RecordedEvent::Pending)
            }
            Some(StoredEventState::Readable(_) | StoredEventState::UnreadableSettled) => {
                Ok(RecordedEvent::Settled)
            }
            // The known record has expired. The new one gets a number of its own: messages of the old one are no messages of it.
            None => {
                execute_sql(connection, "DELETE FROM events WHERE id = ?1", [&self.id])?;
                self.run_insert(connection, "")?;
                Ok(RecordedEvent::New(connection.last_insert_rowid()))
            }
        }
    }

    pub(in crate::store) fn write_row(&self, connection: &Connection) -> Result<(), DbError> {
        // The id and the correlation id never change.
        let sql = "UPDATE events SET due = ?2, expires = ?3, payload = ?4, body = ?5 WHERE id = ?1";
        let values = params![self.id, self.due, self.expires, self.payload, self.body];
        if execute_sql(connection, sql, values)? == 0 {
            self.run_insert(connection, "")?;
        }
        Ok(())
    }

    fn run_insert(&self, connection: &Connection, on_conflict: &str) -> Result<usize, DbError> {
        let sql = format!(
            "INSERT INTO events (id, due, expires, payload, body, correlation)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6) {on_conflict}"
        );
        let values = params![
            self.id,
            self.due,
            self.expires,
            self.payload,
            self.body,
            self.correlation
        ];
        execute_sql(connection, &sql, values)
    }
}
