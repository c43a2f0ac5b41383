use super::dead_messages::DeadLetterCopy;
use super::{GroupKey, TenantKey, update_group_row};
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{decode_json, encode_json, execute_sql, millis_after, row_exists};
use async_trait::async_trait;
use futures::future::BoxFuture;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::event::InboundJob;
use recado_domain::wake_up::TurnsJob;
use recado_ports::ports::{InboundEntry, OutboundEntry, PortResult, Queues};
use recado_ports::step_commit::{StepCommit, StepOutcome};
use rusqlite::{Connection, params};
use serde_json::Value;
use std::collections::BTreeSet;
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
    connection: &Connection,
    queue: QueueName,
    message: &FifoMessage,
    deduplication: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    let FifoMessage { group, .. } = message;
    let (name, at) = (queue.as_str(), now.as_millisecond());
    let sql = "SELECT 1 FROM queue_dedup WHERE queue = ?1 AND grp = ?2 AND dedup = ?3 AND until > ?4";
    if row_exists(connection, sql, params![name, group, deduplication, at])? {
        return Ok(());
    }
    let sql = "INSERT OR REPLACE INTO queue_dedup (queue, grp, dedup, until) VALUES (?1, ?2, ?3, ?4)";
    execute_sql(
        connection,
        sql,
        params![name, group, deduplication, millis_after(now, DEDUPLICATION)],
    )?;
    insert_fifo(connection, queue, message, now)
}

/// Appends a message to a FIFO queue, whatever its deduplication id.
pub(super) fn insert_fifo(
    connection: &Connection,
    queue: QueueName,
    message: &FifoMessage,
    now: Timestamp,
) -> Result<(), DbError> {
    insert_into_group(
        connection,
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
    connection: &Connection,
    queue: QueueName,
    group: &str,
    owner: &TenantKey,
    body: &MessageBody<'_>,
    now: Timestamp,
) -> Result<(), DbError> {
    let (text, event) = match *body {
        MessageBody::Text(text) => (text, None),
        MessageBody::Event(event) => ("", Some(event)),
    };
    let (name, at, key) = (
        queue.as_str(),
        now.as_millisecond(),
        GroupKey::from_group_name(queue, group),
    );
    let sql = "INSERT INTO queue_messages (queue, grp, group_key, owner, visible_at, sent_at, body, event)
        VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7)";
    execute_sql(
        connection,
        sql,
        params![name, group, key, owner.as_str(), at, text, event],
    )?;
    // A group that has messages keeps its row: the new message is not its oldest one.
    let sql = "INSERT INTO queue_groups (group_key, queue, head, owner, free_at) VALUES (?1, ?2, ?3, ?4, 0)
        ON CONFLICT DO NOTHING";
    let head = connection.last_insert_rowid();
    execute_sql(connection, sql, params![key, name, head, owner.as_str()])?;
    Ok(())
}

/// A message of the queue `turns`, as a row.
#[derive(Debug)]
pub(super) struct TurnsRow {
    pub(super) owner: TenantKey,
    pub(super) body: String,
}

impl TurnsRow {
    pub(super) fn from_job(job: &TurnsJob, delay: Duration) -> Result<Self, DbError> {
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
    connection: &Connection,
    name: Option<&str>,
    turn: &TurnsRow,
    visible_at: i64,
    now: Timestamp,
) -> Result<(), DbError> {
    let TurnsRow { owner, body } = turn;
    let queue = QueueName::Turns;
    let sql = "INSERT INTO queue_messages (queue, name, owner, visible_at, sent_at, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
    let (queue, now) = (queue.as_str(), now.as_millisecond());
    execute_sql(
        connection,
        sql,
        params![queue, name, owner.as_str(), visible_at, now, body],
    )?;
    Ok(())
}

/// Builds the queue message of an event.
pub(super) fn event_fifo_message(job: &InboundJob) -> Result<FifoMessage, DbError> {
    Ok(FifoMessage {
        group: job.group.clone(),
        body: encode_json(job)?,
        owner: TenantKey::for_event(job),
    })
}

#[async_trait]
impl Queues for Embedded {
    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        const WHAT: &str = "send_inbound";
        let messages: Vec<(FifoMessage, String)> = events
            .iter()
            .map(|event| Ok((event_fifo_message(&event.job)?, event.deduplication.clone())))
            .collect::<Result<_, _>>()
            .map_err(|fault: DbError| fault.into_port_error(WHAT))?;
        let now = self.current_time();
        let work = move |c: &Connection| {
            messages
                .iter()
                .try_for_each(|(message, id)| append_fifo(c, QueueName::Inbound, message, id, now))
        };
        self.run_queue_write(QueueName::Inbound, WHAT, work).await
    }

    fn commit_step<'a>(&'a self, step: &'a StepCommit<'_>) -> Option<BoxFuture<'a, PortResult<StepOutcome>>> {
        Some(Box::pin(self.commit_joint_step(step)))
    }

    async fn enqueue_turns_job(&self, job: &TurnsJob, delay: Duration) -> PortResult<()> {
        const WHAT: &str = "send_turn";
        let turn = TurnsRow::from_job(job, delay).map_err(|fault| fault.into_port_error(WHAT))?;
        let now = self.current_time();
        let work = move |c: &Connection| insert_turn(c, None, &turn, millis_after(now, delay), now);
        self.run_queue_write(QueueName::Turns, WHAT, work).await
    }

    async fn schedule_turns_job(&self, job: &TurnsJob, at: Timestamp) -> PortResult<()> {
        const WHAT: &str = "schedule_turn";
        let turn = TurnsRow::from_job(job, Duration::ZERO).map_err(|fault| fault.into_port_error(WHAT))?;
        let name = format!("{}#{}", job.schedule_key(), at.as_second().div_euclid(60));
        let now = self.current_time();
        let work = move |c: &Connection| insert_turn(c, Some(&name), &turn, at.as_millisecond(), now);
        self.run_queue_write(QueueName::Turns, WHAT, work).await
    }

    async fn enqueue_outbound(&self, entries: &[OutboundEntry]) -> PortResult<()> {
        let (entries, now) = (entries.to_vec(), self.current_time());
        self.run_queue_write(QueueName::Outbound, "enqueue_outbound", move |c| {
            for OutboundEntry { job, deduplication } in &entries {
                let message = FifoMessage {
                    group: job.queue_group().to_owned(),
                    body: encode_json(job)?,
                    owner: TenantKey::for_outbound(c, job)?,
                };
                append_fifo(c, QueueName::Outbound, &message, deduplication, now)?;
            }
            Ok(())
        })
        .await
    }

    async fn enqueue_dead_copy(&self, dead_letter: &DeadLetter) -> PortResult<()> {
        const WHAT: &str = "send_dead";
        let copy =
            DeadLetterCopy::from_letter(dead_letter, None).map_err(|fault| fault.into_port_error(WHAT))?;
        let now = self.current_time();
        self.run_write(WHAT, move |c| copy.insert_copy(c, now)).await
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        const WHAT: &str = "put_payload";
        let json = encode_json(payload).map_err(|fault| fault.into_port_error(WHAT))?;
        let (payloads, key) = (self.payload_store(), key.to_owned());
        // The reading threads write the file: a large file must delay neither the writer nor the caller's executor.
        self.run_read(WHAT, move |_| payloads.write_payload(&key, &json))
            .await
    }

    /// Returns whether the body exists. Nothing must be renewed here: a body that a message or a dead letter names is
    /// not deleted.
    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        Ok(self.find_payload(key).await?.is_some())
    }

    async fn find_payload(&self, key: &str) -> PortResult<Option<Value>> {
        let (payloads, key) = (self.payload_store(), key.to_owned());
        self.run_read("payload", move |_| {
            payloads
                .read_payload(&key)?
                .as_deref()
                .map(decode_json)
                .transpose()
        })
        .await
    }

    async fn delete_payload(&self, key: &str) -> PortResult<()> {
        let (payloads, key) = (self.payload_store(), key.to_owned());
        self.run_read("delete_payload", move |_| payloads.delete_payload(&key))
            .await
    }

    async fn delete_inbound(&self, groups: &BTreeSet<String>) -> PortResult<()> {
        self.wait_for_intake("delete_inbound").await?;
        let groups = groups.clone();
        let work = move |c: &Connection| groups.iter().try_for_each(|group| delete_group(c, group));
        self.run_write("delete_inbound", work).await
    }
}

/// Deletes all messages of a group of `inbound`, those in its dead-letter queue too.
fn delete_group(connection: &Connection, group: &str) -> Result<(), DbError> {
    let inbound = QueueName::Inbound;
    let key = GroupKey::from_group_name(inbound, group);
    let live = "DELETE FROM queue_messages WHERE group_key = ?1 AND dead_at IS NULL AND grp = ?2";
    execute_sql(connection, live, params![key, group])?;
    let dead = "DELETE FROM queue_messages WHERE queue = ?1 AND dead_at IS NOT NULL AND grp = ?2";
    execute_sql(connection, dead, params![inbound.as_str(), group])?;
    update_group_row(connection, inbound, Some(key))
}
