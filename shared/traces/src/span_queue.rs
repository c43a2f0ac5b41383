//! The spans that wait to be exported.

use crate::exported_span::prepare_span;
use metrics::counter;
use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use recado_pipeline::measure;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Number of spans that may wait. A span is about 1 KB, so they take 4 MB at most.
pub(crate) const WAITING_SPANS_MAX: usize = 4096;

/// An entry of the queue.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// A span that has ended.
    Span(Box<SpanData>),
    /// Somebody who waits until the spans before are posted or dropped.
    Flush(oneshot::Sender<()>),
}

/// The queue, as those know it who put spans into it.
#[derive(Debug, Clone)]
pub(crate) struct SpanQueue(Sender<Waiting>);

impl SpanQueue {
    /// Creates a queue in which `most` spans may wait.
    pub(crate) fn with_length(most: usize) -> (Self, Receiver<Waiting>) {
        let (sender, receiver) = channel(most);
        (Self(sender), receiver)
    }

    /// Waits until the spans before are posted or dropped, `limit` at most.
    pub(crate) async fn flush_spans(&self, limit: Duration) {
        let (done, flushed) = oneshot::channel();
        let flush = async {
            if self.0.send(Waiting::Flush(done)).await.is_ok() {
                // An error means that the delivery has ended.
                let _ended = flushed.await;
            }
        };
        // What takes longer is posted later, or dropped when the process ends.
        let _late = timeout(limit, flush).await;
    }
}

/// Counts spans that were dropped.
pub(crate) fn count_dropped_spans(count: usize) {
    counter!(measure::SPANS_DROPPED).increment(count as u64);
}

impl SpanProcessor for SpanQueue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self
            .0
            .try_send(Waiting::Span(Box::new(prepare_span(span))))
            .is_err()
        {
            count_dropped_spans(1);
        }
    }

    /// Does nothing: [`SpanQueue::flush_spans`] waits without blocking the thread.
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
