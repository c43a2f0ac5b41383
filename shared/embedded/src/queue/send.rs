//! The sending side of the queues, as the use cases see it.

use super::dead_messages::DeadLetterCopy;
use super::groups::{GroupKey, update_group_row};
use super::message_rows::{FifoMessage, TurnsRow, append_fifo, insert_turn};
use super::tenant_key::TenantKey;
use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{decode_json, encode_json, execute_sql, millis_after};
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

/// Builds the queue message of an event.
fn event_fifo_message(job: &InboundJob) -> DbResult<FifoMessage> {
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
        let work = move |db: &Connection| {
            messages
                .iter()
                .try_for_each(|(message, id)| append_fifo(db, QueueName::Inbound, message, id, now))
        };
        self.run_queue_write(QueueName::Inbound, WHAT, work).await
    }

    fn joins_records(&self) -> bool {
        true
    }

    fn commit_step<'a>(&'a self, step: &'a StepCommit<'_>) -> Option<BoxFuture<'a, PortResult<StepOutcome>>> {
        Some(Box::pin(self.commit_joint_step(step)))
    }

    async fn enqueue_turns_job(&self, job: &TurnsJob, delay: Duration) -> PortResult<()> {
        const WHAT: &str = "send_turn";
        let turn = TurnsRow::from_job(job, delay).map_err(|fault| fault.into_port_error(WHAT))?;
        let now = self.current_time();
        let work = move |db: &Connection| insert_turn(db, None, &turn, millis_after(now, delay), now);
        self.run_queue_write(QueueName::Turns, WHAT, work).await
    }

    async fn schedule_turns_job(&self, job: &TurnsJob, at: Timestamp) -> PortResult<()> {
        const WHAT: &str = "schedule_turn";
        let turn = TurnsRow::from_job(job, Duration::ZERO).map_err(|fault| fault.into_port_error(WHAT))?;
        let name = format!("{}#{}", job.schedule_key(), at.as_second().div_euclid(60));
        let now = self.current_time();
        let work = move |db: &Connection| insert_turn(db, Some(&name), &turn, at.as_millisecond(), now);
        self.run_queue_write(QueueName::Turns, WHAT, work).await
    }

    async fn enqueue_outbound(&self, entries: &[OutboundEntry]) -> PortResult<()> {
        let (entries, now) = (entries.to_vec(), self.current_time());
        self.run_queue_write(QueueName::Outbound, "enqueue_outbound", move |db| {
            for OutboundEntry { job, deduplication } in &entries {
                let message = FifoMessage {
                    group: job.queue_group().to_owned(),
                    body: encode_json(job)?,
                    owner: TenantKey::for_outbound(db, job)?,
                };
                append_fifo(db, QueueName::Outbound, &message, deduplication, now)?;
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
        self.run_write(WHAT, move |db| copy.insert_copy(db, now)).await
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        const WHAT: &str = "put_payload";
        let json = encode_json(payload).map_err(|fault| fault.into_port_error(WHAT))?;
        let (payloads, key) = (self.payload_store(), key.to_owned());
        // The reading threads write the file: a large file must delay neither the writer nor the caller's executor.
        self.run_read(WHAT, move |_| payloads.write_text(&key, &json))
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
            let text = payloads.read_text(&key)?;
            text.as_deref().map(decode_json).transpose()
        })
        .await
    }

    async fn delete_payload(&self, key: &str) -> PortResult<()> {
        let (payloads, key) = (self.payload_store(), key.to_owned());
        self.run_read("delete_payload", move |_| payloads.delete_bytes(&key))
            .await
    }

    async fn delete_inbound(&self, groups: &BTreeSet<String>) -> PortResult<()> {
        self.wait_for_intake("delete_inbound").await?;
        let groups = groups.clone();
        let work = move |db: &Connection| groups.iter().try_for_each(|group| delete_group(db, group));
        self.run_write("delete_inbound", work).await
    }
}

/// Deletes all messages of a group of `inbound`, those in its dead-letter queue too.
fn delete_group(db: &Connection, group: &str) -> DbResult<()> {
    let inbound = QueueName::Inbound;
    let key = GroupKey::from_group_name(inbound, group);
    let live = "DELETE FROM queue_messages WHERE group_key = ?1 AND dead_at IS NULL AND grp = ?2";
    execute_sql(db, live, params![key, group])?;
    let dead = "DELETE FROM queue_messages WHERE queue = ?1 AND dead_at IS NOT NULL AND grp = ?2";
    execute_sql(db, dead, params![inbound.as_str(), group])?;
    update_group_row(db, inbound, Some(key))
}
