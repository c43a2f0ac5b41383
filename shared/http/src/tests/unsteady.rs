//! Queues that can be made to fail or to hang behind a store that works.

use recado_domain::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::wake_up::{SendJob, TurnJob};
use recado_embedded::Embedded;
use recado_pipeline::ports::{
    DeadLetterQueues, DeadQueueMessage, InboundEntry, PortError, PortResult, Queues,
};
use serde_json::Value;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How the queues are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Working,
    Failing,
    Hanging,
}

/// The embedded queues, as they are told to be.
#[derive(Debug, Clone)]
pub(crate) struct Unsteady {
    inner: Embedded,
    mood: Arc<AtomicU8>,
    /// How many calls have come to a queue that hangs.
    pub(crate) hanging: Arc<AtomicU64>,
    /// The deduplication ids of what was enqueued on `inbound`.
    pub(crate) inbound: Arc<Mutex<Vec<String>>>,
}

impl Unsteady {
    pub(crate) fn over(inner: Embedded) -> Self {
        Self {
            inner,
            mood: Arc::default(),
            hanging: Arc::default(),
            inbound: Arc::default(),
        }
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.mood.store(mood as u8, Ordering::Relaxed);
    }

    async fn pass(&self) -> PortResult<()> {
        let mood = self.mood.load(Ordering::Relaxed);
        if mood == Mood::Hanging as u8 {
            self.hanging.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
        if mood == Mood::Failing as u8 {
            return Err(PortError::unavailable("enqueueing", "as the test wants"));
        }
        Ok(())
    }
}

impl Queues for Unsteady {
    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        self.pass().await?;
        let ids = events.iter().map(|event| event.deduplication.clone());
        self.inbound.lock().unwrap().extend(ids);
        self.inner.enqueue_inbound(events).await
    }

    async fn enqueue_turn_job(&self, kick: &TurnJob, delay: Duration) -> PortResult<()> {
        self.pass().await?;
        self.inner.enqueue_turn_job(kick, delay).await
    }

    async fn schedule_turn_job(&self, kick: &TurnJob, at: Timestamp) -> PortResult<()> {
        self.pass().await?;
        self.inner.schedule_turn_job(kick, at).await
    }

    async fn enqueue_send_job(&self, kick: &SendJob, deduplication: &str) -> PortResult<()> {
        self.pass().await?;
        self.inner.enqueue_send_job(kick, deduplication).await
    }

    async fn enqueue_dead_copy(&self, letter: &DeadLetter) -> PortResult<()> {
        self.pass().await?;
        self.inner.enqueue_dead_copy(letter).await
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        self.pass().await?;
        self.inner.put_payload(key, payload).await
    }

    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        self.pass().await?;
        self.inner.renew_payload(key).await
    }

    async fn find_payload(&self, key: &str) -> PortResult<Option<Value>> {
        self.pass().await?;
        self.inner.find_payload(key).await
    }
}

impl DeadLetterQueues for Unsteady {
    async fn receive_dead_messages(&self, queue: QueueName) -> PortResult<Vec<DeadQueueMessage>> {
        self.inner.receive_dead_messages(queue).await
    }

    async fn remove_dead_message(&self, copy: &DeadQueueMessage) -> PortResult<()> {
        self.inner.remove_dead_message(copy).await
    }

    async fn enqueue_redrive(&self, letter: &DeadLetter, deduplication: &str) -> PortResult<()> {
        self.inner.enqueue_redrive(letter, deduplication).await
    }
}
