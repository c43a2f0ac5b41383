//! Takes the place of `traces` in a program that exports no traces. A start that is to export them is refused.

#![expect(clippy::unused_async, reason = "it has the functions of what it stands for")]

use anyhow::{Result, bail};
use recado_pipeline::settings::VariableReader;
use std::time::Duration;
use tokio::runtime::Handle;
use tracing_subscriber::layer::Identity;

/// Longest time for which the end of the process waits for the last spans.
pub const LAST_SPANS: Duration = Duration::ZERO;

/// The settings of traces, which this program cannot follow.
#[derive(Debug, Clone, Copy)]
pub struct TraceSettings;

impl TraceSettings {
    /// Reads whether traces are wanted.
    pub fn from_environment(reader: &mut VariableReader) -> Option<Self> {
        reader.add_known_names(&[
            "OTEL_EXPORTER_OTLP_HEADERS",
            "OTEL_RESOURCE_ATTRIBUTES",
            "OTEL_SERVICE_NAME",
            "OTEL_TRACES_SAMPLER_ARG",
        ]);
        reader.read_base_url("OTEL_EXPORTER_OTLP_ENDPOINT").map(|_| Self)
    }
}

/// An export, of which there is none.
#[derive(Debug, Clone, Copy)]
pub enum StartedTraces {}

impl StartedTraces {
    /// Refuses to export traces. `None`: none are wanted.
    pub fn prepare(settings: Option<&TraceSettings>) -> Result<Option<Self>> {
        if settings.is_some() {
            bail!(
                "this program was built without traces: build it with --features full, or unset OTEL_EXPORTER_OTLP_ENDPOINT"
            );
        }
        Ok(None)
    }

    /// Creates the layer that makes exported spans.
    pub fn create_layer(&self) -> Identity {
        match *self {}
    }

    /// Starts the task that posts the spans.
    #[must_use]
    pub fn start_delivery(self, _: &Handle) -> Self {
        match self {}
    }

    /// Waits until the spans that have ended are posted.
    pub async fn flush_spans(&self, _: Duration) {
        match *self {}
    }
}
