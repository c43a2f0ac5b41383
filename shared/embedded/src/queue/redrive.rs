use super::dead_messages::{DeadLetterCopy, parse_copied_letter};
use super::message_rows::enqueue_again;
use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{execute_sql, millis_after, read_lossy_text, run_sql_statement};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName, RedrivenLetter};
use recado_domain::ids::TokenName;
use recado_domain::millis;
use recado_ports::ports::{DeadLetterQueues, DeadQueueMessage, PortResult};
use rusqlite::{Connection, params};
use std::time::Duration;

/// The number of messages that one receive returns at most, as in SQS.
const RECEIVE_MAX: i64 = 10;

/// Time for which a received dead message is hidden.
const HIDDEN_TIME: Duration = Duration::from_secs(5);

fn receive_dead_rows(db: &Connection, queue: QueueName, now: Timestamp) -> DbResult<Vec<DeadQueueMessage>> {
    let sql =
        "SELECT seq, body, CASE WHEN dead_letter IS NULL THEN sent_at ELSE dead_at END, dead_letter FROM queue_messages
        WHERE queue = ?1 AND dead_at IS NOT NULL AND visible_at <= ?2 ORDER BY seq LIMIT ?3";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params![queue.as_str(), now.as_millisecond(), RECEIVE_MAX])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let dead_letter = parse_copied_letter(row, 3)?;
        found.push(DeadQueueMessage {
            queue,
            body: read_lossy_text(row, 1)?.unwrap_or_default(),
            sent_at: millis::from_unix_millis(row.get(2)?),
            copy_of: dead_letter.map(|dead_letter| RedrivenLetter {
                dead_letter: dead_letter.id,
                failed_at: dead_letter.at,
            }),
            receipt: row.get::<_, i64>(0)?.to_string(),
        });
    }
    for copy in &found {
        let sql = "UPDATE queue_messages SET visible_at = ?2 WHERE seq = CAST(?1 AS INTEGER)";
        execute_sql(db, sql, params![copy.receipt, millis_after(now, HIDDEN_TIME)])?;
    }
    Ok(found)
}

fn delete_dead_row(db: &Connection, queue: QueueName, receipt: &str) -> DbResult<()> {
    let sql = "DELETE FROM queue_messages WHERE seq = ?1 AND queue = ?2 AND dead_at IS NOT NULL";
    let seq: i64 = receipt
        .parse()
        .map_err(|_| DbError::Argument("not a receipt of a dead message"))?;
    run_sql_statement(db, sql, params![seq, queue.as_str()])
}

#[async_trait]
impl DeadLetterQueues for Embedded {
    async fn receive_dead_messages(&self, queue: QueueName) -> PortResult<Vec<DeadQueueMessage>> {
        let now = self.current_time();
        self.run_write("receive_dead", move |db| receive_dead_rows(db, queue, now))
            .await
    }

    async fn remove_dead_message(&self, copy: &DeadQueueMessage) -> PortResult<()> {
        let (queue, receipt) = (copy.queue, copy.receipt.clone());
        self.run_write("remove_dead", move |db| delete_dead_row(db, queue, &receipt))
            .await
    }

    async fn enqueue_redrive(
        &self,
        dead_letter: &DeadLetter,
        by: &TokenName,
        deduplication: &str,
    ) -> PortResult<()> {
        const WHAT: &str = "send_redrive";
        let copy = DeadLetterCopy::from_letter(dead_letter, Some(by))
            .map_err(|fault| fault.into_port_error(WHAT))?;
        let (deduplication, now) = (deduplication.to_owned(), self.current_time());
        self.run_queue_write(dead_letter.queue, WHAT, move |db| {
            let message = (copy.group.clone(), copy.body.clone());
            enqueue_again(db, copy.queue, message, Some(&deduplication), now)
        })
        .await
    }
}
