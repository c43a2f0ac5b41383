use super::PortResult;
use crate::step_commit::{StepCommit, StepOutcome};
use async_trait::async_trait;
use futures::future::BoxFuture;
use jiff::Timestamp;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::InboundJob;
use recado_domain::wake_up::{OutboundJob, TurnsJob};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// An event that is to be enqueued.
#[derive(Debug, Clone, PartialEq)]
pub struct InboundEntry {
    /// Job to enqueue.
    pub job: InboundJob,
    /// Deduplication id: the queue drops a second entry with the same id and group for five minutes.
    pub deduplication: String,
}

/// A job of the queue `outbound` that is to be enqueued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundEntry {
    /// Job to enqueue.
    pub job: OutboundJob,
    /// Deduplication id. It must be new for every job, except for a job that the queue shall drop.
    pub deduplication: String,
}

/// The queues, the schedule and the store of large bodies. Queue messages are wake-up jobs: they may come twice, late,
/// or after another worker did the work.
#[async_trait]
pub trait Queues: Send + Sync {
    /// Enqueues events on `inbound` in their order (FIFO, group = [`InboundJob::group`]). An error means that some of
    /// them may not be enqueued; those of a group that are enqueued are its first ones.
    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()>;

    /// Returns `true` if records and queues lie in one database: then [`Self::commit_step`] commits both together.
    fn joins_records(&self) -> bool {
        false
    }

    /// Commits a step in one transaction: its records, its jobs, and the acknowledgement of the queue message that the caller handles.
    /// Only [`StepOutcome::Committed`] and [`StepOutcome::Recorded`] mean that anything was written; an error means that
    /// nothing was. A pending event that is repeated is enqueued under its own id as deduplication id.
    ///
    /// `None`: records and queues lie apart ([`Self::joins_records`]), and nothing is done (`Deps::commit_step` of the use cases).
    fn commit_step<'a>(
        &'a self,
        _step: &'a StepCommit<'_>,
    ) -> Option<BoxFuture<'a, PortResult<StepOutcome>>> {
        None
    }

    /// Enqueues a job on `turns` that is handed out after `delay`, 15 minutes at most.
    async fn enqueue_turns_job(&self, job: &TurnsJob, delay: Duration) -> PortResult<()>;

    /// Schedules a job that comes on `turns` at `at` (EventBridge Scheduler is precise to a minute). The schedule survives
    /// restarts. There is one per [`TurnsJob::schedule_key`] and minute; an existing one is not changed.
    async fn schedule_turns_job(&self, job: &TurnsJob, at: Timestamp) -> PortResult<()>;

    /// Enqueues jobs on `outbound` in their order (FIFO, group = [`OutboundJob::queue_group`]), in few requests. An error means
    /// that some of them may not be enqueued.
    async fn enqueue_outbound(&self, entries: &[OutboundEntry]) -> PortResult<()>;

    /// Sends the copy of a dead letter to its queue's dead-letter queue. People read it there, or redrive it from a
    /// console. The body is the one that the queue itself would carry, marked `redrive`, with the dead letter's fields
    /// beside it.
    async fn enqueue_dead_copy(&self, dead_letter: &DeadLetter) -> PortResult<()>;

    /// Stores a body that is too large for a queue message. The same key again replaces the body.
    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()>;

    /// Restarts the retention of a stored body, as if it were stored now. So a body exists as long as a message or a
    /// dead letter names it. `false`: there is no body under this key.
    async fn renew_payload(&self, key: &str) -> PortResult<bool>;

    /// Returns a body that [`Self::put_payload`] stored; `None` if there is none under this key.
    async fn find_payload(&self, key: &str) -> PortResult<Option<Value>>;

    /// Deletes a stored body. A body that does not exist is no error.
    async fn delete_payload(&self, key: &str) -> PortResult<()>;

    /// Deletes the messages of these groups from `inbound`, where the queue can. SQS cannot: there the messages come,
    /// find their events settled, and go.
    async fn delete_inbound(&self, groups: &BTreeSet<String>) -> PortResult<()>;
}
