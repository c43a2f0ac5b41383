//! The rows of events, in their table and in the intake log. One whose record cannot be read is settled as others are, and a repeat finds
//! that it is.

use crate::db_error::{DbError, DbResult};
use crate::sql_records::{
    decode_json, encode_json, execute_sql, keep_readable, query_first_row, query_one, query_one_value,
    read_lossy_text,
};
use crate::stored_files::payload_file_name;
use jiff::Timestamp;
use recado_domain::event::{EventPayload, EventRecord, EventState, JobNames};
use recado_domain::ids::EventId;
use recado_domain::reason::Reason;
use recado_ports::ports::RecordEventOutcome;
use rusqlite::{Connection, Row, params};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
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
    ) -> DbResult<Self> {
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
    pub(crate) fn append_to_log(&self, db: &Connection, group: &str, owner: &str) -> DbResult<bool> {
        let sql = "INSERT INTO intake (id, due, payload, body, correlation, grp, owner)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING";
        let (id, due, payload, body) = (&self.id, self.due, &self.payload, &self.body);
        let values = params![id, due, payload, body, self.correlation, group, owner];
        Ok(execute_sql(db, sql, values)? == 1)
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
    pub(crate) fn insert_new(&self, db: &Connection, now: Timestamp) -> DbResult<RecordedEvent> {
        if self.run_insert(db, "ON CONFLICT (id) DO NOTHING")? == 1 {
            return Ok(RecordedEvent::New(db.last_insert_rowid()));
        }
        match select_event_state(db, &self.id, now)? {
            Some(StoredEventState::Readable(EventState::Pending)) => Ok(RecordedEvent::Pending),
            // What is owed can be done again: the repeat brought all that it needs.
            Some(StoredEventState::UnreadablePending) => {
                self.write_row(db)?;
                Ok(RecordedEvent::Pending)
            }
            Some(StoredEventState::Readable(_) | StoredEventState::UnreadableSettled) => {
                Ok(RecordedEvent::Settled)
            }
            // The known record has expired. The new one gets a number of its own: messages of the old one are no messages of it.
            None => {
                execute_sql(db, "DELETE FROM events WHERE id = ?1", [&self.id])?;
                self.run_insert(db, "")?;
                Ok(RecordedEvent::New(db.last_insert_rowid()))
            }
        }
    }

    pub(in crate::store) fn write_row(&self, db: &Connection) -> DbResult<()> {
        // The id and the correlation id never change.
        let sql = "UPDATE events SET due = ?2, expires = ?3, payload = ?4, body = ?5 WHERE id = ?1";
        let values = params![self.id, self.due, self.expires, self.payload, self.body];
        if execute_sql(db, sql, values)? == 0 {
            self.run_insert(db, "")?;
        }
        Ok(())
    }

    fn run_insert(&self, db: &Connection, on_conflict: &str) -> DbResult<usize> {
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
        execute_sql(db, &sql, values)
    }
}

/// The beginning of an event's record: its job is the first field.
const BEFORE_JOB: &str = "{\"job\":";

/// Leaves only the job of an event's record. Of the JSON nothing is built in memory. What cannot be read stays as it is, for the
/// worker to set aside: other messages must not wait for it.
pub(crate) fn cut_out_job(record: &mut String) {
    if let Some(rest) = record.strip_prefix(BEFORE_JOB) {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        if let Some(Ok(_)) = values.next() {
            let end = BEFORE_JOB.len() + values.byte_offset();
            record.truncate(end);
        }
        record.drain(..BEFORE_JOB.len());
    } else if let Ok(job) = decode_json::<EventRecord>(record).and_then(|record| encode_json(&record.job)) {
        *record = job;
    }
}

/// Returns the record of an event, unless it has expired.
pub(super) fn select_event<P: DeserializeOwned>(
    db: &Connection,
    id: &str,
    now: Timestamp,
) -> DbResult<Option<EventRecord<P>>> {
    let sql = "SELECT body FROM events WHERE id = ?1 AND (expires IS NULL OR expires > ?2)";
    query_one(db, sql, params![id, now.as_millisecond()])
}

pub(super) fn settle_record(record: &mut EventRecord, reason: Option<Reason>, at: Timestamp) {
    record.reason = reason;
    record.settled_at = Some(at);
    if reason.is_some() {
        record.state = EventState::Dead;
    } else {
        record.state = EventState::Applied;
        record.job.payload = EventPayload::Inline(Value::Null);
    }
}

/// An event that was to be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordedEvent {
    /// The event is new, and has this number within the database.
    New(i64),
    Pending,
    Settled,
}

impl From<RecordedEvent> for RecordEventOutcome {
    fn from(recorded: RecordedEvent) -> Self {
        match recorded {
            RecordedEvent::New(_) => Self::New,
            RecordedEvent::Pending => Self::Pending,
            RecordedEvent::Settled => Self::Settled,
        }
    }
}

/// The state of an event that the database knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoredEventState {
    Readable(EventState),
    /// The record cannot be read, and the columns say that the event is to be processed.
    UnreadablePending,
    /// The record cannot be read, and the columns say that nothing is to be done.
    UnreadableSettled,
}

/// Returns the state of an event, unless it is unknown or has expired.
pub(crate) fn select_event_state(
    db: &Connection,
    id: &str,
    now: Timestamp,
) -> DbResult<Option<StoredEventState>> {
    if let Some(known) = keep_readable("events", select_event::<IgnoredAny>(db, id, now))? {
        return Ok(known.map(|known| StoredEventState::Readable(known.state)));
    }
    let sql = "SELECT due IS NOT NULL FROM events WHERE id = ?1";
    let is_due: Option<bool> = query_one_value(db, sql, [id])?;
    Ok(is_due.map(|is_due| {
        if is_due {
            StoredEventState::UnreadablePending
        } else {
            StoredEventState::UnreadableSettled
        }
    }))
}

/// Settles a pending event whose record cannot be read. Its payload is removed. What can be read of the rest is kept in a new record;
/// if too little can, the row expires at `times.1`. `false`: the event is not pending.
pub(super) fn settle_unreadable(
    db: &Connection,
    id: &EventId,
    reason: Option<Reason>,
    times: (Timestamp, Timestamp),
) -> DbResult<bool> {
    let (at, expires) = times;
    let sql = "SELECT body FROM events WHERE id = ?1 AND due IS NOT NULL";
    let body = query_first_row(db, sql, [id.as_str()], |row| read_lossy_text(row, 0))?;
    let Some(body) = body.flatten() else {
        return Ok(false);
    };
    let decoded = serde_json::from_str::<EventRecord<IgnoredAny>>(&body).ok();
    let record = match decoded {
        Some(record) => Some(record.with_payload(EventPayload::Inline(Value::Null))),
        None => build_record(&body, id, at),
    };
    let Some(mut record) = record else {
        let sql = "UPDATE events SET due = NULL, expires = ?2 WHERE id = ?1";
        execute_sql(db, sql, params![id.as_str(), expires.as_millisecond()])?;
        return Ok(true);
    };
    settle_record(&mut record, reason, at);
    EventRow::from_record(&record, reason.is_none().then_some(expires))?.write_row(db)?;
    Ok(true)
}

/// Records an event that could not be recorded as it came as one that was given up. `job`: what is left of it, as JSON.
pub(crate) fn record_given_up(db: &Connection, id: &str, job: &str, at: Timestamp) -> DbResult<()> {
    let id = EventId::parse(id).map_err(|_| DbError::Argument("a damaged id"))?;
    let names = JobNames::cut_out(job);
    let Some(job) = names.into_job_without_payload(&id, at) else {
        return Ok(());
    };
    let mut record = EventRecord::new_pending(job);
    settle_record(&mut record, Some(Reason::Poison), at);
    EventRow::from_record(&record, None)?.write_row(db)
}

/// Builds a pending record without a payload of what can be read of a record.
fn build_record(body: &str, id: &EventId, at: Timestamp) -> Option<EventRecord> {
    let job = body.strip_prefix(BEFORE_JOB).unwrap_or(body);
    let job = JobNames::cut_out(job).into_job_without_payload(id, at)?;
    Some(EventRecord::new_pending(job))
}
