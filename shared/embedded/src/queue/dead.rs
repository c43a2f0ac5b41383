use super::{Owner, is_fifo, regroup};
use crate::Embedded;
use crate::fault::Fault;
use crate::record::{decode, encode, execute, limit};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadWhat, QueueName, UNREADABLE_GROUP};
use recado_domain::millis;
use recado_pipeline::ports::PortResult;
use rusqlite::{Connection, Row, params};

/// A message in a queue's dead-letter queue.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadMessage {
    /// Names it among the dead.
    pub id: i64,
    /// Which queue it was on.
    pub queue: QueueName,
    /// Its group there.
    pub group: Option<String>,
    /// How often it was handed out.
    pub receives: u32,
    /// As it was sent.
    pub body: String,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// When it was put here.
    pub dead_at: Timestamp,
    /// What it is the copy of. Absent: the queue put it here by itself, and no record says so yet.
    pub letter: Option<DeadLetter>,
}

/// Puts a message into its dead-letter queue. Its group is for the caller to bring in line.
pub(super) fn bury(connection: &Connection, seq: i64, now: Timestamp) -> Result<(), Fault> {
    let sql = "UPDATE queue_messages SET dead_at = ?2, name = NULL WHERE seq = ?1";
    execute(connection, sql, params![seq, now.as_millisecond()])?;
    Ok(())
}

/// The columns that [`message_of`] reads.
const COLUMNS: &str = "seq, grp, receives, body, sent_at, dead_at, letter";

fn message_of(queue: QueueName, row: &Row<'_>) -> Result<DeadMessage, Fault> {
    Ok(DeadMessage {
        id: row.get(0)?,
        queue,
        group: row.get(1)?,
        receives: row.get(2)?,
        body: row.get(3)?,
        sent_at: millis::instant(row.get(4)?),
        dead_at: millis::instant(row.get(5)?),
        letter: row
            .get::<_, Option<String>>(6)?
            .as_deref()
            .map(decode)
            .transpose()?,
    })
}

fn dead(connection: &Connection, queue: QueueName, most: usize) -> Result<Vec<DeadMessage>, Fault> {
    let sql = format!(
        "SELECT {COLUMNS} FROM queue_messages WHERE queue = ?1 AND dead_at IS NOT NULL ORDER BY seq LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![queue.as_str(), limit(most)])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        messages.push(message_of(queue, row)?);
    }
    Ok(messages)
}

fn take(connection: &Connection, queue: QueueName, id: i64) -> Result<Option<DeadMessage>, Fault> {
    let sql =
        format!("SELECT {COLUMNS} FROM queue_messages WHERE seq = ?1 AND queue = ?2 AND dead_at IS NOT NULL");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![id, queue.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let message = message_of(queue, row)?;
    execute(connection, "DELETE FROM queue_messages WHERE seq = ?1", [id])?;
    Ok(Some(message))
}

/// What a dead letter's own queue would carry, marked as a redrive, and its group there.
pub(super) struct Copy {
    pub(super) queue: QueueName,
    pub(super) group: Option<String>,
    pub(super) body: String,
    id: String,
    at: Timestamp,
    letter: String,
}

impl Copy {
    pub(super) fn of(letter: &DeadLetter) -> Result<Self, Fault> {
        let carried = letter
            .carried()
            .map_err(|_| Fault::Argument("a dead letter of no message of ours"))?;
        let (group, body) = match (carried, &letter.what) {
            (Some((group, carried)), _) => (group, encode(&carried)?),
            (None, DeadWhat::Unreadable { body }) => (UNREADABLE_GROUP.to_owned(), body.clone()),
            (None, _) => return Err(Fault::Argument("a dead letter of nothing")),
        };
        let group = is_fifo(letter.queue).then_some(group);
        let (id, letter_text) = (letter.id.clone(), encode(letter)?);
        Ok(Self {
            queue: letter.queue,
            group,
            body,
            id,
            at: letter.at,
            letter: letter_text,
        })
    }

    /// Puts it into the dead-letter queue, in the place of an earlier copy of the same letter.
    pub(super) fn put(&self, connection: &Connection, now: Timestamp) -> Result<(), Fault> {
        let sql = "INSERT OR REPLACE INTO queue_messages
            (queue, grp, name, visible_at, sent_at, dead_at, body, letter) VALUES (?1, ?2, ?3, ?5, ?4, ?5, ?6, ?7)";
        let Self {
            queue,
            group,
            body,
            id,
            at,
            letter,
        } = self;
        let (name, now) = (format!("dead#{id}"), now.as_millisecond());
        let values = params![
            queue.as_str(),
            group,
            name,
            at.as_millisecond(),
            now,
            body,
            letter
        ];
        execute(connection, sql, values)?;
        Ok(())
    }
}

/// Sends a dead message anew, to the end of its group, past every deduplication.
fn redrive(connection: &Connection, queue: QueueName, id: i64, now: Timestamp) -> Result<bool, Fault> {
    let Some(message) = take(connection, queue, id)? else {
        return Ok(false);
    };
    let owner = Owner::of(connection, queue, &message.body)?;
    let sql = "INSERT INTO queue_messages (queue, grp, owner, visible_at, sent_at, body)
        VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
    let (name, at) = (queue.as_str(), now.as_millisecond());
    execute(
        connection,
        sql,
        params![name, message.group, owner.as_str(), at, message.body],
    )?;
    regroup(connection, queue, message.group.as_deref())?;
    Ok(true)
}

impl Embedded {
    /// What lies in the dead-letter queue of `queue`, the oldest first, at most `max`.
    pub async fn dead(&self, queue: QueueName, max: usize) -> PortResult<Vec<DeadMessage>> {
        self.read("dead", move |c| dead(c, queue, max)).await
    }

    /// Removes a message from the dead-letter queue of `queue` and returns it; `None` if it is not there.
    pub async fn take_dead(&self, queue: QueueName, id: i64) -> PortResult<Option<DeadMessage>> {
        self.write("take_dead", move |c| take(c, queue, id)).await
    }

    /// Puts a message of the dead-letter queue back to the end of `queue`, as if it were new; `false` if it is not there.
    pub async fn redrive_dead(&self, queue: QueueName, id: i64) -> PortResult<bool> {
        let now = self.now();
        self.write_queue(queue, "redrive_dead", move |c| redrive(c, queue, id, now))
            .await
    }
}
