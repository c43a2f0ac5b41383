//! Names spans as they are exported, and takes everything from them that is not on the list.

use opentelemetry::trace::{SpanKind, Status};
use opentelemetry_sdk::trace::{SpanData, SpanEvents};

/// The attributes that are exported: ids, and words of closed lists. Everything else stays here.
const ATTRIBUTES: [&str; 10] = [
    "conversation_id",
    "correlation_id",
    "event_id",
    "instance",
    "invitation_id",
    "method",
    "provider",
    "receives",
    "route",
    "step",
];

/// Prepares an ended span for its export.
pub(crate) fn prepare_span(mut span: SpanData) -> SpanData {
    if span.name == "step"
        && let Some(step) = span.attributes.iter().find(|one| one.key.as_str() == "step")
    {
        span.name = format!("step {}", step.value.as_str()).into();
    }
    span.span_kind = match &*span.name {
        "webhook" | "api" => SpanKind::Server,
        "process" | "turn" | "send" | "send_email" => SpanKind::Consumer,
        "provider" => SpanKind::Client,
        _ => SpanKind::Internal,
    };
    span.attributes
        .retain(|one| ATTRIBUTES.contains(&one.key.as_str()));
    span.events = SpanEvents::default();
    span.status = Status::Unset;
    span
}
