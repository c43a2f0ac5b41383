use super::groups::is_fifo;
use super::message_rows::enqueue_again;
use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{
    decode_json, encode_json, execute_sql, keep_readable, query_all_rows, read_lossy_text, run_sql_statement,
    to_sql_limit,
};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName, UNREADABLE_GROUP};
use recado_domain::ids::TokenName;
use recado_domain::millis;
use recado_ports::ports::PortResult;
use rusqlite::{Connection, Row, params};

/// A message in a queue's dead-letter queue.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadMessage {
    /// The id of the message among the dead messages.
    pub id: i64,
    /// The queue that the message was on.
    pub queue: QueueName,
    /// The FIFO group that the message had on its queue. `None` on a standard queue.
    pub group: Option<String>,
    /// The number of times that the message was handed out.
    pub receives: u32,
    /// The body of the message, unchanged.
    pub body: String,
    /// Time of sending.
    pub sent_at: Timestamp,
    /// Time at which the message came into the dead-letter queue.
    pub dead_at: Timestamp,
    /// The dead letter of which this message is a copy. `None`: the queue itself moved the message here, and no dead
    /// letter is recorded yet.
    pub dead_letter: Option<DeadLetter>,
}

/// Moves a message to its dead-letter queue. The caller must update the row of its group.
pub(super) fn move_to_dead_letters(db: &Connection, seq: i64, now: Timestamp) -> DbResult<()> {
    // The event of the message may expire before somebody reads it here.
    let sql = "UPDATE queue_messages SET dead_at = ?2, name = NULL, event = NULL, body = CASE WHEN event IS NULL THEN body
        ELSE (SELECT CASE WHEN json_valid(events.body) THEN json_extract(events.body, '$.job') ELSE events.body END
            FROM events WHERE seq = event) END WHERE seq = ?1";
    run_sql_statement(db, sql, params![seq, now.as_millisecond()])
}

/// The columns that [`parse_dead_message`] reads.
const COLUMNS: &str = "seq, grp, receives, body, sent_at, dead_at, dead_letter";

/// Returns the dead letter of which a message is a copy. `None`: it is none, or its dead letter cannot be read.
pub(super) fn parse_copied_letter(row: &Row<'_>, column: usize) -> DbResult<Option<DeadLetter>> {
    match read_lossy_text(row, column)? {
        Some(copied) => keep_readable("queue_messages", decode_json(&copied)),
        None => Ok(None),
    }
}

fn parse_dead_message(queue: QueueName, row: &Row<'_>) -> DbResult<DeadMessage> {
    Ok(DeadMessage {
        id: row.get(0)?,
        queue,
        group: row.get(1)?,
        receives: row.get(2)?,
        body: read_lossy_text(row, 3)?.unwrap_or_default(),
        sent_at: millis::from_unix_millis(row.get(4)?),
        dead_at: millis::from_unix_millis(row.get(5)?),
        dead_letter: parse_copied_letter(row, 6)?,
    })
}

fn select_dead(db: &Connection, queue: QueueName, most: usize) -> DbResult<Vec<DeadMessage>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM queue_messages WHERE queue = ?1 AND dead_at IS NOT NULL ORDER BY seq LIMIT ?2"
    );
    let values = params![queue.as_str(), to_sql_limit(most)];
    query_all_rows(db, &sql, values, |row| parse_dead_message(queue, row))
}

fn take_dead_row(db: &Connection, queue: QueueName, id: i64) -> DbResult<Option<DeadMessage>> {
    let sql =
        format!("SELECT {COLUMNS} FROM queue_messages WHERE seq = ?1 AND queue = ?2 AND dead_at IS NOT NULL");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params![id, queue.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let message = parse_dead_message(queue, row)?;
    execute_sql(db, "DELETE FROM queue_messages WHERE seq = ?1", [id])?;
    Ok(Some(message))
}

/// A dead letter's copy: the queue message that its own queue would carry, marked as a redrive, with its group.
pub(super) struct DeadLetterCopy {
    pub(super) queue: QueueName,
    pub(super) group: Option<String>,
    pub(super) body: String,
    id: String,
    at: Timestamp,
    dead_letter: String,
}

impl DeadLetterCopy {
    pub(super) fn from_letter(dead_letter: &DeadLetter, by: Option<&TokenName>) -> DbResult<Self> {
        let carried = dead_letter
            .build_redrive_payload(by)
            .map_err(|_| DbError::Argument("a dead letter of no message of ours"))?;
        let (group, body) = match (carried, &dead_letter.what) {
            (Some((group, carried)), _) => (group, encode_json(&carried)?),
            (None, DeadLetterContent::Unreadable { body }) => (UNREADABLE_GROUP.to_owned(), body.clone()),
            (None, _) => return Err(DbError::Argument("a dead letter of nothing")),
        };
        let group = is_fifo(dead_letter.queue).then_some(group);
        let (id, letter_text) = (dead_letter.id.clone(), encode_json(dead_letter)?);
        Ok(Self {
            queue: dead_letter.queue,
            group,
            body,
            id,
            at: dead_letter.at,
            dead_letter: letter_text,
        })
    }

    /// Puts the copy into the dead-letter queue, in the place of an earlier copy of the same dead letter.
    pub(super) fn insert_copy(&self, db: &Connection, now: Timestamp) -> DbResult<()> {
        let sql = "INSERT OR REPLACE INTO queue_messages
            (queue, grp, name, visible_at, sent_at, dead_at, body, dead_letter) VALUES (?1, ?2, ?3, ?5, ?4, ?5, ?6, ?7)";
        let (name, now) = (format!("dead#{}", self.id), now.as_millisecond());
        let values = params![
            self.queue.as_str(),
            self.group,
            name,
            self.at.as_millisecond(),
            now,
            self.body,
            self.dead_letter
        ];
        run_sql_statement(db, sql, values)
    }
}

/// Sends a dead message again, to the end of its group, without deduplication. `false` if there is no such message.
fn requeue_dead(db: &Connection, queue: QueueName, id: i64, now: Timestamp) -> DbResult<bool> {
    let Some(message) = take_dead_row(db, queue, id)? else {
        return Ok(false);
    };
    enqueue_again(db, queue, (message.group, message.body), None, now)?;
    Ok(true)
}

impl Embedded {
    /// Lists the messages in the dead-letter queue of `queue`, the oldest first, at most `max`.
    pub async fn list_dead_messages(&self, queue: QueueName, max: usize) -> PortResult<Vec<DeadMessage>> {
        self.run_read("dead", move |db| select_dead(db, queue, max)).await
    }

    /// Moves a message from the dead-letter queue to the end of `queue`, as if it were new. `false` if the message is
    /// not there.
    pub async fn redrive_dead_message(&self, queue: QueueName, id: i64) -> PortResult<bool> {
        let now = self.current_time();
        self.run_queue_write(queue, "redrive_dead", move |db| requeue_dead(db, queue, id, now))
            .await
    }
}
