//! What a worker tells the queue.

use std::time::Duration;

/// What becomes of the queue message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Every obligation that follows from it exists: it can be acknowledged.
    Done,
    /// Not yet: bring it back.
    Retry {
        /// After so long; queues keep whole seconds, rounded up.
        after: Duration,
    },
}

impl Verdict {
    /// Brings it back as soon as a queue can.
    pub const RETRY_SOON: Self = Self::Retry {
        after: Duration::from_secs(1),
    };

    /// Brings it back at `at`.
    pub fn retry_at(at: jiff::Timestamp, now: jiff::Timestamp) -> Self {
        let milliseconds = at.as_millisecond().saturating_sub(now.as_millisecond()).max(0);
        Self::Retry {
            after: Duration::from_millis(milliseconds.unsigned_abs()),
        }
    }
}
