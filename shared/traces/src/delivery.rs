//! Posts the spans that wait.

use crate::span_queue::{Waiting, count_dropped_spans};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use std::fmt;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

/// Number of spans in one request.
const BATCH_MAX: usize = 512;

/// Time for which spans are gathered.
const GATHERING: Duration = Duration::from_secs(1);

/// Longest time for one request.
const POST_TIMEOUT: Duration = Duration::from_secs(5);

/// Time between two log lines that tell of dropped spans.
const TELLING: Duration = Duration::from_secs(60);

/// The task that posts the spans of this process.
pub struct SpanDelivery {
    exporter: SpanExporter,
    waiting: Receiver<Waiting>,
    dropped: usize,
    told_at: Option<Instant>,
}

/// The spans of one request, and those who wait for it.
#[derive(Debug, Default)]
struct SpanBatch {
    spans: Vec<SpanData>,
    flushes: Vec<oneshot::Sender<()>>,
}

impl SpanBatch {
    /// Adds what waited. Returns `true` if the batch is to be posted now.
    fn add_waiting(&mut self, waiting: Waiting) -> bool {
        match waiting {
            Waiting::Span(span) => self.spans.push(*span),
            Waiting::Flush(done) => self.flushes.push(done),
        }
        self.spans.len() >= BATCH_MAX || !self.flushes.is_empty()
    }
}

/// Shows no header of the exporter, which may hold a key.
impl fmt::Debug for SpanDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpanDelivery").finish_non_exhaustive()
    }
}

impl SpanDelivery {
    pub(crate) fn new(exporter: SpanExporter, waiting: Receiver<Waiting>) -> Self {
        Self {
            exporter,
            waiting,
            dropped: 0,
            told_at: None,
        }
    }

    /// Posts spans until nobody can add any. A request that fails is not repeated: its spans are dropped and counted.
    pub async fn run_delivery(mut self) {
        while let Some(batch) = self.gather_span_batch().await {
            if !batch.spans.is_empty() {
                self.post_span_batch(batch.spans).await;
            }
            for done in batch.flushes {
                // Nobody waits any more: it took longer than their limit.
                let _gone = done.send(());
            }
        }
    }

    /// Waits for spans, and gathers those that come soon after. `None`: nobody can add any.
    async fn gather_span_batch(&mut self) -> Option<SpanBatch> {
        let mut batch = SpanBatch::default();
        if batch.add_waiting(self.waiting.recv().await?) {
            return Some(batch);
        }
        let end = Instant::now() + GATHERING;
        loop {
            tokio::select! {
                more = self.waiting.recv() => {
                    if more.is_none_or(|more| batch.add_waiting(more)) {
                        return Some(batch);
                    }
                }
                () = sleep_until(end) => return Some(batch),
            }
        }
    }

    async fn post_span_batch(&mut self, spans: Vec<SpanData>) {
        let count = spans.len();
        let why = match timeout(POST_TIMEOUT, self.exporter.export(spans)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it took too long".to_owned(),
        };
        count_dropped_spans(count);
        self.dropped += count;
        if self.told_at.is_none_or(|at| at.elapsed() >= TELLING) {
            tracing::warn!(
                spans = self.dropped,
                why,
                "spans of traces were dropped: their exporter did not take them"
            );
            self.told_at = Some(Instant::now());
            self.dropped = 0;
        }
    }
}
