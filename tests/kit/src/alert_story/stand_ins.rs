//! The clock and the queues of the story.

use crate::builders::far_ahead;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::millis::add_millis;
use recado_ports::ports::{PortResult, QueueDepth, QueueDepths, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// The number of messages in the queues, as the story says.
#[derive(Debug, Clone, Default)]
pub struct ToldDepth(Arc<AtomicU64>);

impl ToldDepth {
    /// Sets the number of messages that wait in the queue `inbound`.
    pub(super) fn tell_waiting(&self, waiting: u64) {
        self.0.store(waiting, Ordering::SeqCst);
    }
}

#[async_trait]
impl QueueDepths for ToldDepth {
    async fn read_queue_depth(&self, queue: QueueName) -> PortResult<QueueDepth> {
        let waiting = match queue {
            QueueName::Inbound => self.0.load(Ordering::SeqCst),
            QueueName::Turns | QueueName::Outbound => 0,
        };
        Ok(QueueDepth {
            waiting,
            ..QueueDepth::default()
        })
    }
}

/// A clock that the story moves. It begins far ahead, so that no store takes a record for expired.
#[derive(Debug, Clone, Default)]
pub struct StoryClock {
    passed_ms: Arc<AtomicI64>,
    random: Arc<AtomicU64>,
}

#[async_trait]
impl System for StoryClock {
    fn now(&self) -> Timestamp {
        add_millis(far_ahead(), self.passed_ms.load(Ordering::SeqCst))
    }

    fn random_u64(&self) -> u64 {
        self.random.fetch_add(1, Ordering::SeqCst)
    }

    async fn sleep(&self, duration: Duration) {
        let milliseconds = i64::try_from(duration.as_millis()).unwrap();
        self.passed_ms.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl StoryClock {
    /// Moves the clock.
    pub fn pass_minutes(&self, minutes: i64) {
        self.passed_ms.fetch_add(minutes * 60_000, Ordering::SeqCst);
    }
}
