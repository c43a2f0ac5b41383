use super::PortResult;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName, RedrivenLetter};
use recado_domain::ids::TokenName;

/// A message that was received from a dead-letter queue.
#[derive(Clone, PartialEq, Eq)]
pub struct DeadQueueMessage {
    /// Queue to which the dead-letter queue belongs.
    pub queue: QueueName,
    /// Body of the message, unchanged.
    pub body: String,
    /// Time when the message was sent: a dead-letter copy to the dead-letter queue, any other message to its own queue.
    pub sent_at: Timestamp,
    /// Dead letter of which the message is a copy. `None`: the queue moved the message here by itself, and the records
    /// may not show that yet.
    pub copy_of: Option<RedrivenLetter>,
    /// Receipt with which the message is removed; valid for this receive only.
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

/// The part of a dead-letter queue that a pass looks through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadQueueLook {
    /// None of it: it holds nothing new.
    Skip,
    /// The beginning, as long as something is removed, and now and then the rest.
    Beginning,
    /// All of it.
    Whole,
}

/// The dead-letter queues, and the redrive of dead letters to their own queues.
#[async_trait]
pub trait DeadLetterQueues: Send + Sync {
    /// Receives at most ten messages from the dead-letter queue of `queue`. They are not handed out again for a few
    /// seconds, so that the next call returns others. An empty result means that all messages were seen, as far as the
    /// queue can tell.
    async fn receive_dead_messages(&self, queue: QueueName) -> PortResult<Vec<DeadQueueMessage>>;

    /// Returns the part of a dead-letter queue that this minute's pass looks through. A queue whose requests cost money skips minutes: what
    /// it gave up by itself must be looked at within five, and the whole queue each hour.
    async fn plan_dead_look(&self, _queue: QueueName) -> PortResult<DeadQueueLook> {
        Ok(DeadQueueLook::Beginning)
    }

    /// Notes the result of a look: the number of messages that were received, and of those that were removed.
    fn note_dead_look(&self, _queue: QueueName, _seen: usize, _gone: usize) {}

    /// Removes a received message. A message that is already gone is no error.
    async fn remove_dead_message(&self, copy: &DeadQueueMessage) -> PortResult<()>;

    /// Sends the content of a dead letter to its own queue, marked with the failure that the redrive undoes. A message is
    /// also marked with `by`, the name of the token that ordered the redrive. A body that could not be read is sent
    /// unchanged. `deduplication` must be new for every redrive.
    async fn enqueue_redrive(
        &self,
        dead_letter: &DeadLetter,
        by: &TokenName,
        deduplication: &str,
    ) -> PortResult<()>;
}
