//! What the simulation needs of queues beyond the port: the workers' side.

mod sqs;

#[cfg(feature = "embedded")]
mod either;
#[cfg(feature = "embedded")]
mod embedded;

#[cfg(feature = "embedded")]
pub use either::{EitherQueues, EitherReceipt};
pub use sqs::Sqs;

use jiff::Timestamp;
use recado_domain::dead_letter::{QueueName, RedrivenLetter};
use recado_pipeline::ports::{DeadLetterQueues, Files, Queues};
use recado_pipeline::settings::VisibilityTimeouts;
use std::fmt::Debug;
use std::time::Duration;

/// A queue message in a worker's hands.
#[derive(Debug, Clone)]
pub struct Got<R> {
    /// To finish it with.
    pub receipt: R,
    /// Its group.
    pub group: Option<String>,
    /// How often it was handed out.
    pub receives: u32,
    /// What it says.
    pub body: String,
}

/// A copy in a dead-letter queue.
#[derive(Debug, Clone)]
pub struct Dead {
    /// To redrive it with.
    pub id: u64,
    /// Which queue it was on.
    pub queue: QueueName,
    /// Of which dead letter it is the copy; absent: the queue put it there by itself.
    pub copy_of: Option<RedrivenLetter>,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// What it says.
    pub body: String,
}

/// Queues and their workers' side.
pub trait WorkQueues: Queues + DeadLetterQueues + Files + Clone + Debug + 'static {
    /// The right to finish a message.
    type Receipt: Clone + Debug + Send + Sync + 'static;

    /// Hands out at most `max` messages.
    fn receive(&self, queue: QueueName, max: usize) -> Vec<Got<Self::Receipt>>;

    /// The same queues for whoever handles this message: a transaction of both acknowledges it.
    #[must_use]
    fn for_message(&self, _receipt: &Self::Receipt) -> Self {
        self.clone()
    }

    /// Finishes one.
    fn delete(&self, receipt: &Self::Receipt);

    /// Hides one for so many whole seconds from now.
    fn put_off(&self, receipt: &Self::Receipt, seconds: u64);

    /// When something may be receivable; `None` if never as things stand.
    fn next_visible(&self, queue: QueueName) -> Option<Timestamp>;

    /// What lies in the dead-letter queues.
    fn dead(&self) -> Vec<Dead>;

    /// Moves a copy back to the end of its queue, as AWS's console does.
    fn move_back(&self, dead: &Dead);
}

/// How long a queue hides what it hands out.
pub fn visibility(queue: QueueName) -> Duration {
    match queue {
        QueueName::Inbound => VisibilityTimeouts::INBOUND,
        QueueName::Turns => VisibilityTimeouts::TURNS,
        QueueName::Outbound => VisibilityTimeouts::OUTBOUND,
    }
}
