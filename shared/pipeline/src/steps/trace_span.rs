//! Joins the spans of all workers into one trace. A job carries the span that made it, and its own work is a span below that.
//!
//! Without an exporter of spans nothing is made here: no job names a span, and no span is kept.

use opentelemetry::Context;
use opentelemetry::trace::{self as otel, SpanContext, TraceContextExt, TraceFlags, TraceState};
use recado_domain::ids::CorrelationId;
use recado_domain::trace_context::{ParentSpan, TraceId, TraceParent};
use std::num::NonZeroU64;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Target of the spans that exist for traces alone. Logs leave them out.
pub const TRACE_TARGET: &str = "recado::trace";

/// Target of the spans of jobs that features do.
pub const JOB_TARGET: &str = "recado_pipeline::job";

/// The id that the trace of the next root span gets, as a value of the current context. Whoever generates ids looks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenTraceId(pub TraceId);

/// Puts a new `span` into the trace of `correlation`, below `parent`. Without a parent it begins the trace. The span must not have
/// been entered.
pub fn continue_trace(span: &Span, correlation: &CorrelationId, parent: Option<ParentSpan>) {
    let trace = TraceId::of_correlation(correlation);
    let Some(parent) = parent else {
        // An error says that spans are not exported, which is no fault.
        let _no_exporter = span.set_parent(Context::new());
        let _chosen = Context::new().with_value(ChosenTraceId(trace)).attach();
        // The span begins here, while its trace is chosen.
        let _begun = span.context();
        return;
    };
    let remote = build_span_context(trace, parent);
    let _no_exporter = span.set_parent(Context::new().with_remote_span_context(remote));
}

/// Links `span` with the client's span, where the client's trace is another one.
pub fn link_client_span(span: &Span, client: TraceParent) {
    span.add_link(build_span_context(client.trace, client.parent));
}

/// Returns the current span if it is one of the trace of `correlation`. `None`: it is not, or no traces are exported.
pub fn find_parent_span(correlation: &CorrelationId) -> Option<ParentSpan> {
    let context = Span::current().context();
    let span = context.span();
    let current = span.span_context();
    let id = NonZeroU64::new(u64::from_be_bytes(current.span_id().to_bytes()))?;
    let is_of_trace = current.trace_id().to_bytes() == TraceId::of_correlation(correlation).to_bytes();
    is_of_trace.then_some(ParentSpan {
        span: id,
        is_sampled: current.is_sampled(),
    })
}

fn build_span_context(trace: TraceId, parent: ParentSpan) -> SpanContext {
    SpanContext::new(
        otel::TraceId::from_bytes(trace.to_bytes()),
        otel::SpanId::from_bytes(parent.span.get().to_be_bytes()),
        TraceFlags::default().with_sampled(parent.is_sampled),
        true,
        TraceState::NONE,
    )
}
