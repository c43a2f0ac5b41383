//! The log of published events. Each is written in the transaction that makes the change that it tells of. One thread writes, and
//! so events become visible in the order of their numbers: none appears behind a cursor that was given out.

use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{
    count_from_sql, decode_column, encode_json, execute_sql, keep_readable, query_first_row, query_one_value,
    run_sql_statement, to_sql_integer, to_sql_limit,
};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::ids::{InstanceId, MessageId, TenantId};
use recado_domain::published_event::{EventCursor, MessageOwner, PublishedEvent};
use recado_ports::ports::{LogPlace, LoggedEvent, PortResult, PublishedEvents, PublishedPage};
use rusqlite::{Connection, Row, params};

/// The number of events that may be published in a millisecond on average: a restored log goes on at this multiple of the time.
const NUMBERS_OF_A_MILLISECOND: i64 = 1024;

/// Writes events into the log, in this order.
pub(crate) fn insert_published_events(db: &Connection, events: &[PublishedEvent]) -> DbResult<()> {
    let sql = "INSERT INTO published_events (tenant, at, body) VALUES (?1, ?2, ?3)";
    for event in events {
        let tenant = event.tenant.as_ref().map_or("", TenantId::as_str);
        let values = params![tenant, event.at.as_millisecond(), encode_json(event)?];
        execute_sql(db, sql, values)?;
    }
    Ok(())
}

/// Returns the number of the newest event in the log; 0 if there is none.
pub(super) fn select_last_number(db: &Connection) -> DbResult<i64> {
    let sql = "SELECT coalesce(max(seq), 0) FROM published_events";
    Ok(query_one_value(db, sql, [])?.unwrap_or_default())
}

/// Deletes the events behind a number.
pub(super) fn delete_events_after(db: &Connection, number: i64) -> DbResult<()> {
    run_sql_statement(db, "DELETE FROM published_events WHERE seq > ?1", [number])
}

/// Writes an event at its place in the log.
pub(super) fn put_numbered_event(
    db: &Connection,
    place: EventCursor,
    event: &PublishedEvent,
) -> DbResult<()> {
    let sql = "INSERT OR REPLACE INTO published_events (seq, tenant, at, body) VALUES (?1, ?2, ?3, ?4)";
    let tenant = event.tenant.as_ref().map_or("", TenantId::as_str);
    let values = params![
        to_sql_integer(place.0),
        tenant,
        event.at.as_millisecond(),
        encode_json(event)?
    ];
    run_sql_statement(db, sql, values)
}

/// Returns whose a message is; `None` if its conversation is not there any more.
pub(super) fn select_message_owner(db: &Connection, message: &MessageId) -> DbResult<Option<MessageOwner>> {
    let Ok((conversation, _)) = message.conversation_and_ordinal() else {
        return Ok(None);
    };
    let sql = "SELECT tenant, instance FROM conversations WHERE id = ?1";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let found: Option<(String, String)> = query_first_row(db, sql, [conversation.to_string()], read)?;
    let parse = |(tenant, instance): (String, String)| {
        Some(MessageOwner {
            tenant: TenantId::parse(&tenant).ok()?,
            instance: InstanceId::parse(&instance).ok()?,
        })
    };
    Ok(found.and_then(parse))
}

/// Returns the number of the newest event that was ever written.
fn select_newest_number(db: &Connection) -> DbResult<i64> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'published_events'";
    Ok(query_one_value(db, sql, [])?.unwrap_or(0))
}

/// Has the log of a restored backup go on above every number that the original may have given since.
pub(super) fn skip_lost_numbers(db: &Connection, now: Timestamp) -> DbResult<()> {
    let next = now.as_millisecond().saturating_mul(NUMBERS_OF_A_MILLISECOND);
    let newest = select_newest_number(db)?.max(next);
    let sql = "DELETE FROM sqlite_sequence WHERE name = 'published_events'";
    execute_sql(db, sql, [])?;
    let sql = "INSERT INTO sqlite_sequence (name, seq) VALUES ('published_events', ?1)";
    run_sql_statement(db, sql, [newest])
}

/// Deletes the oldest events if they were published at `before` or earlier, at most `most`.
pub(super) fn delete_old_events(db: &Connection, before: Timestamp, most: usize) -> DbResult<usize> {
    let sql = "DELETE FROM published_events WHERE at <= ?1
        AND seq IN (SELECT seq FROM published_events ORDER BY seq LIMIT ?2)";
    execute_sql(db, sql, params![before.as_millisecond(), to_sql_limit(most)])
}

fn select_page(
    db: &Connection,
    tenant: Option<&TenantId>,
    after: EventCursor,
    limit: usize,
    kept_since: Timestamp,
) -> DbResult<PublishedPage> {
    let sql = match tenant {
        Some(_) => {
            "SELECT seq, body FROM published_events WHERE tenant = ?1 AND seq > ?2 AND at > ?3 ORDER BY seq LIMIT ?4"
        }
        None => {
            "SELECT seq, body FROM published_events WHERE ?1 IS NULL AND seq > ?2 AND at > ?3 ORDER BY seq LIMIT ?4"
        }
    };
    let mut statement = db.prepare_cached(sql)?;
    let (tenant, number) = (tenant.map(TenantId::as_str), to_sql_integer(after.0));
    let values = params![tenant, number, kept_since.as_millisecond(), to_sql_limit(limit)];
    let mut rows = statement.query(values)?;
    let (mut events, mut next) = (Vec::new(), after);
    while let Some(row) = rows.next()? {
        next = EventCursor(count_from_sql(row.get(0)?));
        let event = keep_readable("published_events", decode_column(row, 1))?;
        events.extend(event.map(|event| LoggedEvent { cursor: next, event }));
    }
    if next == after && number > select_newest_number(db)? {
        return Err(DbError::Cursor);
    }
    Ok(PublishedPage { events, next })
}

/// Returns the place behind which the events from a place on lie.
fn select_place(db: &Connection, from: LogPlace) -> DbResult<EventCursor> {
    let before: Option<i64> = match from {
        LogPlace::After(cursor) => return Ok(cursor),
        LogPlace::Before(since) => {
            let sql = "SELECT seq - 1 FROM published_events WHERE at >= ?1 ORDER BY seq LIMIT 1";
            query_one_value(db, sql, [since.as_millisecond()])?
        }
        LogPlace::Newest => None,
    };
    let before = before.map_or_else(|| select_newest_number(db), Ok)?;
    Ok(EventCursor(count_from_sql(before)))
}

#[async_trait]
impl PublishedEvents for Embedded {
    async fn list_published_events(
        &self,
        tenant: Option<&TenantId>,
        from: LogPlace,
        limit: usize,
    ) -> PortResult<PublishedPage> {
        let tenant = tenant.cloned();
        let kept_since = self.events_kept_since(self.current_time());
        self.run_read("published_events", move |db| {
            let after = select_place(db, from)?;
            if limit == 0 {
                return Ok(PublishedPage::end_at(after));
            }
            select_page(db, tenant.as_ref(), after, limit, kept_since)
        })
        .await
    }
}
