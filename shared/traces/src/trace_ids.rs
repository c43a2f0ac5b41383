//! Generates the ids of traces and spans.

use opentelemetry::Context;
use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use recado_pipeline::trace_span::ChosenTraceId;

/// Generates random ids. A trace whose id was chosen gets that id.
#[derive(Debug, Default)]
pub(crate) struct CorrelatedIds(RandomIdGenerator);

impl IdGenerator for CorrelatedIds {
    fn new_trace_id(&self) -> TraceId {
        Context::map_current(|context| context.get::<ChosenTraceId>().copied()).map_or_else(
            || self.0.new_trace_id(),
            |ChosenTraceId(id)| TraceId::from_bytes(id.to_bytes()),
        )
    }

    fn new_span_id(&self) -> SpanId {
        self.0.new_span_id()
    }
}
