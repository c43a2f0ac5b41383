use super::PortResult;
use jiff::Timestamp;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::InboundJob;
use recado_domain::wake_up::{SendJob, TurnJob};
use serde_json::Value;
use std::future::Future;
use std::time::Duration;

/// An event to be enqueued.
#[derive(Debug, Clone, PartialEq)]
pub struct InboundEntry {
    /// What.
    pub job: InboundJob,
    /// The queue drops a second one with the same id and group for five minutes.
    pub deduplication: String,
}

/// The queues, the schedule and the place for large bodies. Queue messages are kicks: they may come twice, late, or
/// after somebody else did the work.
pub trait Queues: Send + Sync {
    /// Enqueues events on `inbound` (FIFO, group = [`InboundJob::group`]), keeping their order. An error means that not
    /// all of them may be enqueued; of each group those that are, are its first ones.
    fn enqueue_inbound(&self, events: &[InboundEntry]) -> impl Future<Output = PortResult<()>> + Send;

    /// Sets a timer of at most 15 minutes on `turns`.
    fn enqueue_turn_job(
        &self,
        kick: &TurnJob,
        delay: Duration,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Sets a durable timer: the kick comes on `turns` at `at` (EventBridge Scheduler is precise to a minute). One per
    /// conversation and minute; one that exists is left alone.
    fn schedule_turn_job(&self, kick: &TurnJob, at: Timestamp)
    -> impl Future<Output = PortResult<()>> + Send;

    /// Kicks the sender on `outbound` (FIFO, group = [`SendJob::queue_group`]). `deduplication` must be new for every kick but those
    /// that shall be dropped.
    fn enqueue_send_job(
        &self,
        kick: &SendJob,
        deduplication: &str,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Puts the copy of a dead letter into its queue's dead-letter queue, for eyes and for a redrive from a console: its
    /// body is what the queue itself would carry, marked `redrive`, with the letter's fields beside it.
    fn enqueue_dead_copy(&self, letter: &DeadLetter) -> impl Future<Output = PortResult<()>> + Send;

    /// Keeps a body that is too large for a queue message; the same key again replaces it.
    fn put_payload(&self, key: &str, payload: &Value) -> impl Future<Output = PortResult<()>> + Send;

    /// Keeps a body for as long again as when it was put: one that a message or a dead letter names is there until that is
    /// gone. `false` if there is none under this key.
    fn renew_payload(&self, key: &str) -> impl Future<Output = PortResult<bool>> + Send;

    /// A body kept by [`Self::put_payload`].
    fn find_payload(&self, key: &str) -> impl Future<Output = PortResult<Option<Value>>> + Send;
}
