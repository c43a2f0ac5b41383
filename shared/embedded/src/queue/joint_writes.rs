//! Joint writes: each commits a step in one transaction, with its records, its jobs, and the acknowledgement of the queue message.

use super::message_rows::{FifoMessage, TurnsRow, insert_fifo, insert_turn};
use super::receipt::HandledMessage;
use super::receive::delete_held;
use super::tenant_key::TenantKey;
use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{encode_json, millis_after};
use crate::store::{CommitRows, InboundRows, Settlement};
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_ports::ports::{PortResult, WriteOutcome};
use recado_ports::step_commit::{StepCommit, StepJob, StepOutcome, StepRecords};
use recado_ports::table::Kind;
use rusqlite::Connection;
use std::sync::Arc;
use std::time::Duration;

/// The records of a step with its jobs, as rows.
struct StepRows {
    records: RecordRows,
    sends: Vec<FifoMessage>,
    turns: Vec<(TurnsRow, Duration)>,
}

enum RecordRows {
    Inbound(Box<InboundRows>),
    Reply(Box<CommitRows>),
    Settlement(Box<Settlement>),
}

impl StepRows {
    fn from_step(records: RecordRows, jobs: &[StepJob]) -> DbResult<Self> {
        let (mut sends, mut turns) = (Vec::new(), Vec::new());
        for job in jobs {
            match job {
                StepJob::Turns(job, delay) => turns.push((TurnsRow::from_job(job, *delay)?, *delay)),
                StepJob::Outbound(job, instance) => sends.push(FifoMessage {
                    group: job.queue_group().to_owned(),
                    body: encode_json(job)?,
                    owner: TenantKey::for_send(instance),
                }),
            }
        }
        Ok(Self {
            records,
            sends,
            turns,
        })
    }

    /// Writes the records, and the jobs if the records are written. A new job needs no look for its deduplication id.
    fn write_all(&self, db: &Connection, kinds: &[Kind], now: Timestamp) -> DbResult<StepOutcome> {
        let outcome = match &self.records {
            RecordRows::Inbound(rows) => rows.write_rows(db, now)?.into(),
            RecordRows::Reply(rows) => WriteOutcome::from(rows.write_rows(db, kinds, now)?).into(),
            RecordRows::Settlement(settlement) => settlement.write_settlement(db, now)?.into(),
        };
        if outcome == StepOutcome::Committed {
            for send in &self.sends {
                insert_fifo(db, QueueName::Outbound, send, now)?;
            }
            for (turn, delay) in &self.turns {
                insert_turn(db, None, turn, millis_after(now, *delay), now)?;
            }
        }
        Ok(outcome)
    }
}

impl Embedded {
    pub(super) async fn commit_joint_step(&self, step: &StepCommit<'_>) -> PortResult<StepOutcome> {
        let what = step.records.name();
        let faulted = |fault: DbError| fault.into_port_error(what);
        let (records, queues): (_, &[QueueName]) = match &step.records {
            StepRecords::Events(events) => {
                let recorded = self.record_and_enqueue_events(events).await?;
                return Ok(StepOutcome::Recorded(recorded));
            }
            StepRecords::Inbound(write) => {
                let rows = InboundRows::from_write(write).map_err(faulted)?;
                let rows = RecordRows::Inbound(Box::new(rows));
                (rows, &[QueueName::Inbound, QueueName::Turns])
            }
            StepRecords::Reply(reply) => {
                let rows = CommitRows::from_messages(reply.conversation, reply.parts, reply.beside);
                let rows = RecordRows::Reply(Box::new(rows.map_err(faulted)?));
                (rows, &[QueueName::Turns, QueueName::Outbound])
            }
            StepRecords::Settlement(settled) => {
                let rows = Settlement::from_message(
                    "settle",
                    settled.message,
                    settled.finished_send,
                    settled.link,
                    None,
                )?;
                (RecordRows::Settlement(Box::new(rows)), &[QueueName::Outbound])
            }
        };
        let rows = Arc::new(StepRows::from_step(records, &step.jobs).map_err(faulted)?);
        let kinds = self.known_kinds();
        let commit = async || {
            let (rows, now) = (Arc::clone(&rows), self.current_time());
            let work = move |db: &Connection| rows.write_all(db, kinds, now);
            let handled = self.handled_message().filter(|_| step.acknowledges);
            self.run_acknowledging(handled, queues, what, work).await
        };
        let may_be_on_its_way = matches!(step.records, StepRecords::Inbound(_)) && self.has_waiting_intake();
        let outcome = commit().await?;
        if outcome != StepOutcome::Conflict || !may_be_on_its_way {
            return Ok(outcome);
        }
        // The event may be on its way from the intake log.
        self.wait_for_intake(what).await?;
        commit().await
    }

    /// Runs `work`. If it commits, the same transaction deletes the queue message of `handled`. A receipt that is no longer valid deletes
    /// nothing: then the message comes again, and its work is found done.
    async fn run_acknowledging(
        &self,
        handled: Option<&Arc<HandledMessage>>,
        queues: &[QueueName],
        what: &'static str,
        work: impl Fn(&Connection) -> DbResult<StepOutcome> + Send + Sync + 'static,
    ) -> PortResult<StepOutcome> {
        let work = Arc::new(work);
        let run_joint = || {
            let work = Arc::clone(&work);
            let receipt = handled.map(|handled| handled.receipt().clone());
            let now = self.current_time();
            let joint = move |db: &Connection| {
                let outcome = work(db)?;
                if let Some(receipt) = receipt.as_ref().filter(|_| outcome == StepOutcome::Committed) {
                    delete_held(db, receipt, now)?;
                }
                Ok(outcome)
            };
            self.run_queues_write(queues, what, joint)
        };
        let outcome = self.write_despite_refusals(run_joint).await?;
        if let Some(handled) = handled.filter(|_| outcome == StepOutcome::Committed) {
            handled.note_acknowledgement();
        }
        Ok(outcome)
    }
}
