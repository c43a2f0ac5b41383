//! Writes of the store that share a transaction with what the queues do next: the jobs that follow, and the acknowledgement of
//! the queue message that a worker handles.

use super::TenantKey;
use super::receive::{Receipt, delete_held};
use super::send::{FifoMessage, TurnsRow, insert_fifo, insert_turn};
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{encode_json, millis_after};
use crate::store::{InboundRows, ReplyRows, Settlement};
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_ports::ports::{AppliedMessage, CommittedReply, PortResult, StoreInboundOutcome, WriteOutcome};
use recado_ports::table::Kind;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The queue message that a worker handles.
#[derive(Debug)]
pub(crate) struct HandledMessage {
    receipt: Receipt,
    acknowledged: AtomicBool,
}

impl HandledMessage {
    pub(crate) fn new(receipt: &Receipt) -> Self {
        Self {
            receipt: receipt.clone(),
            acknowledged: AtomicBool::new(false),
        }
    }

    /// Returns whether nobody else can receive the message yet.
    pub(super) fn is_held(&self, now: Timestamp) -> bool {
        self.receipt.is_in_time(now)
    }

    /// Returns whether a transaction deleted the message.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged.load(Ordering::Acquire)
    }
}

/// A message with what follows from it, as rows.
pub(super) struct JointStore {
    rows: InboundRows,
    turn: Option<(TurnsRow, Duration)>,
}

impl JointStore {
    pub(super) fn from_applied(applied: &AppliedMessage<'_>) -> Result<Self, DbError> {
        let turn = applied
            .turn
            .map(|(job, delay)| TurnsRow::from_job(job, delay).map(|turn| (turn, delay)));
        Ok(Self {
            rows: InboundRows::from_write(&applied.write)?,
            turn: turn.transpose()?,
        })
    }

    fn write_all(&self, connection: &Connection, now: Timestamp) -> Result<StoreInboundOutcome, DbError> {
        let outcome = self.rows.write_rows(connection, now)?;
        if outcome == StoreInboundOutcome::Stored
            && let Some((turn, delay)) = &self.turn
        {
            insert_turn(connection, None, turn, millis_after(now, *delay), now)?;
        }
        Ok(outcome)
    }
}

/// A reply with its jobs, as rows.
pub(super) struct JointCommit {
    rows: ReplyRows,
    send: FifoMessage,
    turn: Option<TurnsRow>,
}

impl JointCommit {
    pub(super) fn from_reply(reply: &CommittedReply<'_>) -> Result<Self, DbError> {
        let turn = reply.turn.map(|job| TurnsRow::from_job(job, Duration::ZERO));
        Ok(Self {
            rows: ReplyRows::from_reply(reply.conversation, reply.parts, reply.beside)?,
            send: FifoMessage {
                group: reply.send.queue_group().to_owned(),
                body: encode_json(reply.send)?,
                owner: TenantKey::for_send(&reply.conversation.instance),
            },
            turn: turn.transpose()?,
        })
    }

    fn write_all(
        &self,
        connection: &Connection,
        kinds: &[Kind],
        now: Timestamp,
    ) -> Result<WriteOutcome, DbError> {
        let written = self.rows.write_rows(connection, kinds, now)?;
        if written == WriteOutcome::Written {
            insert_fifo(connection, QueueName::Outbound, &self.send, now)?;
            if let Some(turn) = &self.turn {
                insert_turn(connection, None, turn, now.as_millisecond(), now)?;
            }
        }
        Ok(written)
    }
}

impl Embedded {
    pub(super) async fn store_and_finish_event(
        &self,
        joint: Result<Arc<JointStore>, DbError>,
    ) -> PortResult<StoreInboundOutcome> {
        const WHAT: &str = "store_and_finish";
        let joint = joint.map_err(|fault| fault.into_port_error(WHAT))?;
        let now = self.current_time();
        let store = async || {
            let joint = Arc::clone(&joint);
            let work = move |c: &Connection| joint.write_all(c, now);
            let queues = [QueueName::Inbound, QueueName::Turns];
            self.run_acknowledging(&queues, WHAT, StoreInboundOutcome::Stored, work)
                .await
        };
        let was_waiting = self.has_waiting_intake();
        let outcome = store().await?;
        if outcome != StoreInboundOutcome::Conflict || !was_waiting {
            return Ok(outcome);
        }
        // The event may be on its way from the intake log.
        self.wait_for_intake(WHAT).await?;
        store().await
    }

    pub(super) async fn commit_and_enqueue_jobs(
        &self,
        joint: Result<Box<JointCommit>, DbError>,
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "commit_and_enqueue";
        let joint = joint.map_err(|fault| fault.into_port_error(WHAT))?;
        let (kinds, now) = (self.known_kinds(), self.current_time());
        let work = move |c: &Connection| joint.write_all(c, kinds, now);
        let queues = [QueueName::Turns, QueueName::Outbound];
        self.run_acknowledging(&queues, WHAT, WriteOutcome::Written, work)
            .await
    }

    pub(super) async fn settle_and_delete(
        &self,
        settlement: PortResult<Box<Settlement>>,
    ) -> PortResult<WriteOutcome> {
        let (settlement, now) = (settlement?, self.current_time());
        let work = move |c: &Connection| settlement.write_settlement(c, now);
        self.run_acknowledging(&[QueueName::Outbound], "settle", WriteOutcome::Written, work)
            .await
    }

    /// Runs `work`. If its outcome is `written`, the same transaction deletes the queue message that the caller handles. A
    /// receipt that is no longer valid deletes nothing: then the message comes again, and its work is found done.
    async fn run_acknowledging<T: Clone + PartialEq + Send + 'static>(
        &self,
        queues: &[QueueName],
        what: &'static str,
        written: T,
        work: impl Fn(&Connection) -> Result<T, DbError> + Send + Sync + 'static,
    ) -> PortResult<T> {
        let handled = self.handled_message().map(Arc::clone);
        let work = Arc::new(work);
        let run_joint = || {
            let (work, expected) = (Arc::clone(&work), written.clone());
            let receipt = handled.as_ref().map(|handled| handled.receipt.clone());
            let now = self.current_time();
            let joint = move |c: &Connection| {
                let outcome = work(c)?;
                if let Some(receipt) = receipt.as_ref().filter(|_| outcome == expected) {
                    delete_held(c, receipt, now)?;
                }
                Ok(outcome)
            };
            self.run_queues_write(queues, what, joint)
        };
        let outcome = self.write_despite_refusals(run_joint).await?;
        if let Some(handled) = handled.filter(|_| outcome == written) {
            handled.acknowledged.store(true, Ordering::Release);
        }
        Ok(outcome)
    }
}
