//! The rows of messages that are sent.

use super::groups::GroupKey;
use super::tenant_key::TenantKey;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{encode_json, execute_sql, millis_after, row_exists, run_sql_statement};
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::wake_up::TurnsJob;
use rusqlite::{Connection, params};
use std::time::Duration;

/// Time for which a deduplication id is remembered, the same as in SQS.
const DEDUPLICATION: Duration = Duration::from_secs(300);

/// The longest delay of a message, the same as in SQS.
const DELAY_MAX: Duration = Duration::from_secs(900);

/// A message for a FIFO queue.
pub(super) struct FifoMessage {
    pub(super) group: String,
    pub(super) body: String,
    pub(super) owner: TenantKey,
}

/// Appends a message to a FIFO queue, unless its deduplication id is known.
pub(super) fn append_fifo(
    db: &Connection,
    queue: QueueName,
    message: &FifoMessage,
    deduplication: &str,
    now: Timestamp,
) -> DbResult<()> {
    let FifoMessage { group, .. } = message;
    let (name, at) = (queue.as_str(), now.as_millisecond());
    let sql = "SELECT 1 FROM queue_dedup WHERE queue = ?1 AND grp = ?2 AND dedup = ?3 AND until > ?4";
    if row_exists(db, sql, params![name, group, deduplication, at])? {
        return Ok(());
    }
    let sql = "INSERT OR REPLACE INTO queue_dedup (queue, grp, dedup, until) VALUES (?1, ?2, ?3, ?4)";
    let values = params![name, group, deduplication, millis_after(now, DEDUPLICATION)];
    execute_sql(db, sql, values)?;
    insert_fifo(db, queue, message, now)
}

/// Appends a message to a FIFO queue, whatever its deduplication id.
pub(super) fn insert_fifo(
    db: &Connection,
    queue: QueueName,
    message: &FifoMessage,
    now: Timestamp,
) -> DbResult<()> {
    insert_into_group(
        db,
        queue,
        &message.group,
        &message.owner,
        &MessageBody::Text(&message.body),
        now,
    )
}

/// The body of a queue message.
pub(super) enum MessageBody<'a> {
    Text(&'a str),
    /// The job of the event with this number.
    Event(i64),
}

/// Appends a message to its group.
pub(super) fn insert_into_group(
    db: &Connection,
    queue: QueueName,
    group: &str,
    owner: &TenantKey,
    body: &MessageBody<'_>,
    now: Timestamp,
) -> DbResult<()> {
    let (text, event) = match *body {
        MessageBody::Text(text) => (text, None),
        MessageBody::Event(event) => ("", Some(event)),
    };
    let name = queue.as_str();
    let at = now.as_millisecond();
    let key = GroupKey::from_group_name(queue, group);
    let sql = "INSERT INTO queue_messages (queue, grp, group_key, owner, visible_at, sent_at, body, event)
        VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7)";
    let values = params![name, group, key, owner.as_str(), at, text, event];
    execute_sql(db, sql, values)?;
    // A group that has messages keeps its row: the new message is not its oldest one.
    let sql = "INSERT INTO queue_groups (group_key, queue, head, owner, free_at) VALUES (?1, ?2, ?3, ?4, 0)
        ON CONFLICT DO NOTHING";
    let head = db.last_insert_rowid();
    run_sql_statement(db, sql, params![key, name, head, owner.as_str()])
}

/// A message of the queue `turns`, as a row.
#[derive(Debug)]
pub(super) struct TurnsRow {
    pub(super) owner: TenantKey,
    pub(super) body: String,
}

impl TurnsRow {
    pub(super) fn from_job(job: &TurnsJob, delay: Duration) -> DbResult<Self> {
        if delay > DELAY_MAX {
            return Err(DbError::Argument("a message is delayed by at most 15 minutes"));
        }
        Ok(Self {
            owner: TenantKey::for_tenant(job.tenant()),
            body: encode_json(job)?,
        })
    }
}

/// Puts a job on `turns`, visible from `visible_at` on (in milliseconds). If a job of the same `name` is still
/// waiting, nothing is added.
pub(super) fn insert_turn(
    db: &Connection,
    name: Option<&str>,
    turn: &TurnsRow,
    visible_at: i64,
    now: Timestamp,
) -> DbResult<()> {
    let TurnsRow { owner, body } = turn;
    let queue = QueueName::Turns;
    let sql = "INSERT INTO queue_messages (queue, name, owner, visible_at, sent_at, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
    let (queue, now) = (queue.as_str(), now.as_millisecond());
    let values = params![queue, name, owner.as_str(), visible_at, now, body];
    run_sql_statement(db, sql, values)
}

/// Sends a dead message again, to the end of its group. With a deduplication id it is sent once within the time for which that is
/// remembered.
pub(super) fn enqueue_again(
    db: &Connection,
    queue: QueueName,
    (group, body): (Option<String>, String),
    deduplication: Option<&str>,
    now: Timestamp,
) -> DbResult<()> {
    let owner = TenantKey::for_dead_message(db, queue, &body)?;
    let Some(group) = group else {
        let turn = TurnsRow { owner, body };
        return insert_turn(db, None, &turn, now.as_millisecond(), now);
    };
    let message = FifoMessage { group, body, owner };
    match deduplication {
        Some(id) => append_fifo(db, queue, &message, id, now),
        None => insert_fifo(db, queue, &message, now),
    }
}
