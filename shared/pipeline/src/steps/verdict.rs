//! The verdict of a worker on a queue message.

use jiff::SignedDuration;

/// A worker's decision about a queue message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Everything that must follow from the message is stored. The queue may acknowledge the message.
    Done,
    /// The message is not finished. The queue delivers it again.
    Retry {
        /// Time until the next delivery. Queues keep whole seconds, rounded up.
        after: SignedDuration,
    },
}

impl Verdict {
    /// Retries the message as soon as a queue can.
    pub const RETRY_SOON: Self = Self::Retry {
        after: SignedDuration::from_secs(1),
    };

    /// Retries the message at `at`; at once if that time is not after `now`.
    pub fn retry_at(at: jiff::Timestamp, now: jiff::Timestamp) -> Self {
        Self::Retry {
            after: at.duration_since(now).max(SignedDuration::ZERO),
        }
    }
}
