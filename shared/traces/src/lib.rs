//! Exports the spans of a process as OpenTelemetry traces, by OTLP over HTTP (`http/protobuf`).
//!
//! A span that has ended waits in a queue of bounded length. One task takes the spans from there and posts them. Nothing else
//! waits for it: a span for which there is no room, or which the exporter's host does not take, is dropped and counted. Spans hold
//! ids and words of closed lists, never what people wrote.

mod delivery;
mod exported_span;
mod settings;
mod span_queue;
mod trace_ids;

pub use delivery::SpanDelivery;
pub use settings::TraceSettings;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::HttpClient;
use opentelemetry_otlp::{ExporterBuildError, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, SpanExporter as _};
use recado_pipeline::trace_span::TRACE_TARGET;
use span_queue::SpanQueue;
use std::time::Duration;
use trace_ids::CorrelatedIds;
use tracing::{Level, Metadata};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::Registry;

/// A layer that makes exported spans of the spans that it sees. It is the first layer of the registry.
pub type SpanLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// The reason why spans cannot be exported.
#[derive(Debug, thiserror::Error)]
#[error("the exporter of traces could not be built")]
pub struct ExportError(#[from] ExporterBuildError);

/// The export of the spans of this process.
#[derive(Debug, Clone)]
pub struct TraceExport {
    provider: SdkTracerProvider,
    queue: SpanQueue,
}

impl TraceExport {
    /// Prepares the export to the host that the settings name. Spans wait until the [`SpanDelivery`] runs.
    pub fn prepare(
        settings: &TraceSettings,
        client: impl HttpClient + 'static,
    ) -> Result<(Self, SpanDelivery), ExportError> {
        let resource = Resource::builder()
            .with_service_name(settings.service.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(settings.traces_url())
            .with_retry_policy(RetryPolicy::disabled())
            .build()?;
        exporter.set_resource(&resource);
        let (queue, waiting) = SpanQueue::with_length(span_queue::WAITING_SPANS_MAX);
        let sampler = Sampler::TraceIdRatioBased(settings.ratio);
        let provider = SdkTracerProvider::builder()
            .with_span_processor(queue.clone())
            .with_sampler(Sampler::ParentBased(Box::new(sampler)))
            .with_id_generator(CorrelatedIds::default())
            .with_resource(resource)
            .build();
        Ok((Self { provider, queue }, SpanDelivery::new(exporter, waiting)))
    }

    /// Creates the layer that makes exported spans. It sees the spans of messages' way and no event: log lines are not exported.
    pub fn create_layer(&self) -> SpanLayer {
        let layer = tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("recado"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false);
        Box::new(layer.with_filter(filter_fn(is_exported).with_max_level_hint(Level::INFO)))
    }

    /// Waits until the spans that have ended are posted or dropped, `limit` at most.
    pub async fn flush_spans(&self, limit: Duration) {
        self.queue.flush_spans(limit).await;
    }
}

/// Returns `true` for a span of a message's way.
fn is_exported(span: &Metadata<'_>) -> bool {
    let target = span.target();
    span.is_span()
        && *span.level() <= Level::INFO
        && (target == TRACE_TARGET || target.starts_with("recado_pipeline"))
}

#[cfg(test)]
mod tests;
