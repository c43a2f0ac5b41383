use super::PortResult;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName, RedrivenLetter};
use std::future::Future;

/// A message of a dead-letter queue.
#[derive(Clone, PartialEq, Eq)]
pub struct DeadQueueMessage {
    /// Whose dead-letter queue.
    pub queue: QueueName,
    /// Its body, as it came.
    pub body: String,
    /// When it was sent: a copy of ours to the dead-letter queue, any other to its own queue.
    pub sent_at: Timestamp,
    /// Of which dead letter it is the copy. Absent: the queue put it here by itself, and no record may know.
    pub copy_of: Option<RedrivenLetter>,
    /// By what it is removed; good for this receive.
    pub receipt: String,
}

impl std::fmt::Debug for DeadQueueMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeadCopy")
            .field("queue", &self.queue)
            .field("copy_of", &self.copy_of)
            .finish_non_exhaustive()
    }
}

/// The queues' dead-letter queues, and the way back out of them.
pub trait DeadLetterQueues: Send + Sync {
    /// Some of what lies in the dead-letter queue of `queue`, at most ten. It is not handed out again for a few seconds,
    /// so that the next call brings others; none at all means that everything was seen, as far as the queue can tell.
    fn receive_dead_messages(
        &self,
        queue: QueueName,
    ) -> impl Future<Output = PortResult<Vec<DeadQueueMessage>>> + Send;

    /// Removes what was received. One that is gone is no error.
    fn remove_dead_message(&self, copy: &DeadQueueMessage) -> impl Future<Output = PortResult<()>> + Send;

    /// Enqueues what a dead letter is a copy of on its own queue, marked with the death that is undone; what cannot be
    /// read goes as it came. `deduplication` must be new for every redrive.
    fn enqueue_redrive(
        &self,
        letter: &DeadLetter,
        deduplication: &str,
    ) -> impl Future<Output = PortResult<()>> + Send;
}
