//! The export of traces while this machine serves.

use anyhow::{Context, Result};
use recado_http_client::build_http_client;
use recado_traces::{SpanDelivery, SpanLayer, TraceExport, TraceSettings};
use std::time::Duration;
use tokio::runtime::Handle;

/// Longest time for which the end of the process waits for the last spans.
pub(crate) const LAST_SPANS: Duration = Duration::from_secs(2);

/// An export that is prepared, and the task that will post the spans.
pub(crate) struct StartedTraces {
    export: TraceExport,
    delivery: SpanDelivery,
}

impl StartedTraces {
    /// Prepares the export. `None`: no endpoint is set, and nothing is made.
    pub(crate) fn prepare(settings: Option<&TraceSettings>) -> Result<Option<Self>> {
        let Some(settings) = settings else {
            return Ok(None);
        };
        let (export, delivery) = TraceExport::prepare(settings, build_http_client()?)
            .context("traces cannot be exported as OTEL_EXPORTER_OTLP_ENDPOINT says")?;
        Ok(Some(Self { export, delivery }))
    }

    /// Creates the layer that makes exported spans.
    pub(crate) fn create_layer(&self) -> SpanLayer {
        self.export.create_layer()
    }

    /// Starts the task that posts the spans.
    pub(crate) fn start_delivery(self, runtime: &Handle) -> TraceExport {
        runtime.spawn(self.delivery.run_delivery());
        self.export
    }
}
