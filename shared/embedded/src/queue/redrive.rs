use super::dead::Copy;
use super::send::{Letter, append, set_timer};
use crate::Embedded;
use crate::fault::Fault;
use crate::record::{decode, execute, later};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName, RedrivenLetter};
use recado_domain::millis;
use recado_pipeline::ports::{DeadCopy, DeadQueues, PortResult};
use rusqlite::{Connection, params};
use std::time::Duration;

/// How many messages one receive brings at most, as in SQS.
const BATCH: i64 = 10;

/// How long what was received is not handed out again.
const HIDDEN: Duration = Duration::from_secs(5);

fn receive(connection: &Connection, queue: QueueName, now: Timestamp) -> Result<Vec<DeadCopy>, Fault> {
    let sql =
        "SELECT seq, body, CASE WHEN letter IS NULL THEN sent_at ELSE dead_at END, letter FROM queue_messages
        WHERE queue = ?1 AND dead_at IS NOT NULL AND visible_at <= ?2 ORDER BY seq LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![queue.as_str(), now.as_millisecond(), BATCH])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let letter: Option<String> = row.get(3)?;
        let letter: Option<DeadLetter> = letter.as_deref().map(decode).transpose()?;
        found.push(DeadCopy {
            queue,
            body: row.get(1)?,
            sent_at: millis::instant(row.get(2)?),
            copy_of: letter.map(|letter| RedrivenLetter {
                letter: letter.id,
                died: letter.at,
            }),
            receipt: row.get::<_, i64>(0)?.to_string(),
        });
    }
    for copy in &found {
        let sql = "UPDATE queue_messages SET visible_at = ?2 WHERE seq = CAST(?1 AS INTEGER)";
        execute(connection, sql, params![copy.receipt, later(now, HIDDEN)])?;
    }
    Ok(found)
}

/// Appends what a dead letter is a copy of to its own queue.
fn send(connection: &Connection, copy: Copy, deduplication: String, now: Timestamp) -> Result<(), Fault> {
    let Copy {
        queue, group, body, ..
    } = copy;
    if let Some(group) = group {
        let letter = Letter {
            group,
            deduplication,
            body,
        };
        return append(connection, queue, &letter, now);
    }
    set_timer(connection, None, &body, now.as_millisecond(), now)
}

fn remove(connection: &Connection, queue: QueueName, receipt: &str) -> Result<(), Fault> {
    let sql = "DELETE FROM queue_messages WHERE seq = ?1 AND queue = ?2 AND dead_at IS NOT NULL";
    let seq: i64 = receipt
        .parse()
        .map_err(|_| Fault::Argument("not a receipt of a dead message"))?;
    execute(connection, sql, params![seq, queue.as_str()])?;
    Ok(())
}

impl DeadQueues for Embedded {
    async fn receive_dead(&self, queue: QueueName) -> PortResult<Vec<DeadCopy>> {
        let now = self.now();
        self.write("receive_dead", move |c| receive(c, queue, now)).await
    }

    async fn remove_dead(&self, copy: &DeadCopy) -> PortResult<()> {
        let (queue, receipt) = (copy.queue, copy.receipt.clone());
        self.write("remove_dead", move |c| remove(c, queue, &receipt))
            .await
    }

    async fn send_redrive(&self, letter: &DeadLetter, deduplication: &str) -> PortResult<()> {
        const WHAT: &str = "send_redrive";
        let copy = Copy::of(letter).map_err(|fault| fault.during(WHAT))?;
        let (deduplication, now) = (deduplication.to_owned(), self.now());
        self.write_queue(letter.queue, WHAT, move |c| send(c, copy, deduplication, now))
            .await
    }
}
