//! The export of traces while this machine serves.

use anyhow::{Context, Result};
use recado_http_client::build_http_client;
pub use recado_traces::TraceSettings;
use recado_traces::{SpanDelivery, SpanLayer, TraceExport};
use std::time::Duration;
use tokio::runtime::Handle;

/// Longest time for which the end of the process waits for the last spans.
pub const LAST_SPANS: Duration = Duration::from_secs(2);

/// An export that is prepared, and the task that will post the spans.
#[derive(Debug)]
pub struct StartedTraces {
    export: TraceExport,
    delivery: SpanDelivery,
}

impl StartedTraces {
    /// Prepares the export. `None`: no endpoint is set, and nothing is made.
    pub fn prepare(settings: Option<&TraceSettings>) -> Result<Option<Self>> {
        let Some(settings) = settings else {
            return Ok(None);
        };
        let (export, delivery) = TraceExport::prepare(settings, build_http_client()?)
            .context("traces cannot be exported as OTEL_EXPORTER_OTLP_ENDPOINT says")?;
        Ok(Some(Self { export, delivery }))
    }

    /// Creates the layer that makes exported spans.
    pub fn create_layer(&self) -> SpanLayer {
        self.export.create_layer()
    }

    /// Starts the task that posts the spans.
    pub fn start_delivery(self, runtime: &Handle) -> TraceExport {
        runtime.spawn(self.delivery.run_delivery());
        self.export
    }
}
