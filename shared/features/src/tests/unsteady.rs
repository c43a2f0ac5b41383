//! Queues that can be made to fail or to hang behind a store that works.

use async_trait::async_trait;
use recado_domain::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::ids::TokenName;
use recado_domain::wake_up::TurnsJob;
use recado_embedded::Embedded;
use recado_pipeline::ports::{
    DeadLetterQueues, DeadQueueMessage, FileBytes, FileError, Files, InboundEntry, OutboundEntry, PortError,
    PortResult, Queues,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How the queues are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortMode {
    Working,
    Failing,
    Hanging,
}

/// The embedded queues, as they are told to be.
#[derive(Debug, Clone)]
pub(crate) struct Unsteady {
    inner: Embedded,
    mode: Arc<AtomicU8>,
    /// How many calls have come to a queue that hangs.
    pub(crate) hanging: Arc<AtomicU64>,
    /// The deduplication ids of what was enqueued on `inbound`.
    pub(crate) inbound: Arc<Mutex<Vec<String>>>,
}

impl Unsteady {
    pub(crate) fn over(inner: Embedded) -> Self {
        Self {
            inner,
            mode: Arc::default(),
            hanging: Arc::default(),
            inbound: Arc::default(),
        }
    }

    pub(crate) fn set(&self, mode: PortMode) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    async fn around<T>(
        &self,
        _: &'static str,
        call: impl Future<Output = PortResult<T>> + Send,
    ) -> PortResult<T> {
        let mode = self.mode.load(Ordering::Relaxed);
        if mode == PortMode::Hanging as u8 {
            self.hanging.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
        if mode == PortMode::Failing as u8 {
            return Err(PortError::unavailable("enqueueing", "as the test wants"));
        }
        call.await
    }
}

#[async_trait]
impl Queues for Unsteady {
    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        let call = async {
            let ids = events.iter().map(|event| event.deduplication.clone());
            self.inbound.lock().unwrap().extend(ids);
            self.inner.enqueue_inbound(events).await
        };
        self.around("enqueue_inbound", call).await
    }

    async fn enqueue_turns_job(&self, job: &TurnsJob, delay: Duration) -> PortResult<()> {
        self.around("enqueue_turns_job", self.inner.enqueue_turns_job(job, delay))
            .await
    }

    async fn schedule_turns_job(&self, job: &TurnsJob, at: Timestamp) -> PortResult<()> {
        self.around("schedule_turns_job", self.inner.schedule_turns_job(job, at))
            .await
    }

    async fn enqueue_outbound(&self, entries: &[OutboundEntry]) -> PortResult<()> {
        self.around("enqueue_outbound", self.inner.enqueue_outbound(entries))
            .await
    }

    async fn enqueue_dead_copy(&self, dead_letter: &DeadLetter) -> PortResult<()> {
        self.around("enqueue_dead_copy", self.inner.enqueue_dead_copy(dead_letter))
            .await
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        self.around("put_payload", self.inner.put_payload(key, payload))
            .await
    }

    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        self.around("renew_payload", self.inner.renew_payload(key)).await
    }

    async fn find_payload(&self, key: &str) -> PortResult<Option<Value>> {
        self.around("find_payload", self.inner.find_payload(key)).await
    }

    async fn delete_payload(&self, key: &str) -> PortResult<()> {
        self.around("delete_payload", self.inner.delete_payload(key))
            .await
    }

    async fn delete_inbound(&self, groups: &BTreeSet<String>) -> PortResult<()> {
        self.around("delete_inbound", self.inner.delete_inbound(groups))
            .await
    }
}

#[async_trait]
impl Files for Unsteady {
    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>> {
        self.inner.open_file(key).await
    }

    async fn delete_file(&self, key: &str) -> PortResult<()> {
        self.inner.delete_file(key).await
    }

    async fn put_file(&self, key: &str, mime_type: &str, bytes: FileBytes) -> Result<(), FileError> {
        self.inner.put_file(key, mime_type, bytes).await
    }
}

#[async_trait]
impl DeadLetterQueues for Unsteady {
    async fn receive_dead_messages(&self, queue: QueueName) -> PortResult<Vec<DeadQueueMessage>> {
        self.inner.receive_dead_messages(queue).await
    }

    async fn remove_dead_message(&self, copy: &DeadQueueMessage) -> PortResult<()> {
        self.inner.remove_dead_message(copy).await
    }

    async fn enqueue_redrive(
        &self,
        dead_letter: &DeadLetter,
        by: &TokenName,
        deduplication: &str,
    ) -> PortResult<()> {
        self.inner.enqueue_redrive(dead_letter, by, deduplication).await
    }
}
