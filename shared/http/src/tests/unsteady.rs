//! Queues that can be made to fail or to hang behind a store that works.

use recado_domain::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::ids::TokenName;
use recado_domain::wake_up::TurnsJob;
use recado_embedded::Embedded;
use recado_pipeline::ports::{
    DeadLetterQueues, DeadQueueMessage, FileBytes, FileError, Files, InboundEntry, OutboundEntry, PortError,
    PortResult, Queues, VectorStore,
};
use recado_testkit::delegate_calls;
use serde_json::Value;
use std::collections::BTreeSet;
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

    async fn around<T>(
        &self,
        _: &'static str,
        call: impl Future<Output = PortResult<T>> + Send,
    ) -> PortResult<T> {
        let mood = self.mood.load(Ordering::Relaxed);
        if mood == Mood::Hanging as u8 {
            self.hanging.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
        if mood == Mood::Failing as u8 {
            return Err(PortError::unavailable("enqueueing", "as the test wants"));
        }
        call.await
    }
}

impl Queues for Unsteady {
    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        let call = async {
            let ids = events.iter().map(|event| event.deduplication.clone());
            self.inbound.lock().unwrap().extend(ids);
            self.inner.enqueue_inbound(events).await
        };
        self.around("enqueue_inbound", call).await
    }

    delegate_calls! {
        enqueue_turns_job(job: &TurnsJob, delay: Duration) -> ();
        schedule_turns_job(job: &TurnsJob, at: Timestamp) -> ();
        enqueue_outbound(entries: &[OutboundEntry]) -> ();
        enqueue_dead_copy(dead_letter: &DeadLetter) -> ();
        put_payload(key: &str, payload: &Value) -> ();
        renew_payload(key: &str) -> bool;
        find_payload(key: &str) -> Option<Value>;
        delete_payload(key: &str) -> ();
        delete_inbound(groups: &BTreeSet<String>) -> ();
    }
}

impl Files for Unsteady {
    delegate_calls! { directly:
        open_file(key: &str) -> Option<FileBytes>;
        delete_file(key: &str) -> ();
    }

    async fn put_file(&self, key: &str, mime_type: &str, bytes: FileBytes) -> Result<(), FileError> {
        self.inner.put_file(key, mime_type, bytes).await
    }
}

impl VectorStore for Unsteady {}

impl DeadLetterQueues for Unsteady {
    delegate_calls! { directly:
        receive_dead_messages(queue: QueueName) -> Vec<DeadQueueMessage>;
        remove_dead_message(copy: &DeadQueueMessage) -> ();
        enqueue_redrive(dead_letter: &DeadLetter, by: &TokenName, deduplication: &str) -> ();
    }
}
