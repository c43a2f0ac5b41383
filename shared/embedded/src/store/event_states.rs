//! The states of events as the database knows them. One whose record cannot be read is settled as others are, and a repeat finds that it is.

use super::inbox::{EventRow, select_event, settle_record};
use crate::db_error::DbError;
use crate::sql_records::{execute_sql, keep_readable, read_lossy_text};
use jiff::Timestamp;
use recado_domain::event::{EventPayload, EventRecord, EventState, JobNames};
use recado_domain::ids::EventId;
use recado_domain::reason::Reason;
use recado_ports::ports::RecordEventOutcome;
use rusqlite::{Connection, OptionalExtension, params};
use serde::de::IgnoredAny;
use serde_json::Value;

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
    connection: &Connection,
    id: &str,
    now: Timestamp,
) -> Result<Option<StoredEventState>, DbError> {
    if let Some(known) = keep_readable("events", select_event::<IgnoredAny>(connection, id, now))? {
        return Ok(known.map(|known| StoredEventState::Readable(known.state)));
    }
    let sql = "SELECT due IS NOT NULL FROM events WHERE id = ?1";
    let is_due: Option<bool> = connection
        .prepare_cached(sql)?
        .query_row([id], |row| row.get(0))
        .optional()?;
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
    connection: &Connection,
    id: &EventId,
    reason: Option<Reason>,
    times: (Timestamp, Timestamp),
) -> Result<bool, DbError> {
    let (at, expires) = times;
    let sql = "SELECT body FROM events WHERE id = ?1 AND due IS NOT NULL";
    let body: Option<String> = connection
        .prepare_cached(sql)?
        .query_row([id.as_str()], |row| read_lossy_text(row, 0))
        .optional()?
        .flatten();
    let Some(body) = body else { return Ok(false) };
    let decoded = serde_json::from_str::<EventRecord<IgnoredAny>>(&body).ok();
    let record = match decoded {
        Some(record) => Some(record.with_payload(EventPayload::Inline(Value::Null))),
        None => build_record(&body, id, at),
    };
    let Some(mut record) = record else {
        let sql = "UPDATE events SET due = NULL, expires = ?2 WHERE id = ?1";
        execute_sql(connection, sql, params![id.as_str(), expires.as_millisecond()])?;
        return Ok(true);
    };
    settle_record(&mut record, reason, at);
    EventRow::from_record(&record, reason.is_none().then_some(expires))?.write_row(connection)?;
    Ok(true)
}

/// Records an event that could not be recorded as it came as one that was given up. `job`: what is left of it, as JSON.
pub(crate) fn record_given_up(
    connection: &Connection,
    id: &str,
    job: &str,
    at: Timestamp,
) -> Result<(), DbError> {
    let id = EventId::parse(id).map_err(|_| DbError::Argument("a damaged id"))?;
    let names = JobNames::cut_out(job);
    let Some(job) = names.into_job_without_payload(&id, at) else {
        return Ok(());
    };
    let mut record = EventRecord::new_pending(job);
    settle_record(&mut record, Some(Reason::Poison), at);
    EventRow::from_record(&record, None)?.write_row(connection)
}

/// Builds a pending record without a payload of what can be read of a record.
fn build_record(body: &str, id: &EventId, at: Timestamp) -> Option<EventRecord> {
    let job = body.strip_prefix("{\"job\":").unwrap_or(body);
    let job = JobNames::cut_out(job).into_job_without_payload(id, at)?;
    Some(EventRecord::new_pending(job))
}
