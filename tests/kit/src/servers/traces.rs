//! Reads the spans that a program posted by OTLP to a stand-in.

use super::scripted::Request;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// A span that was posted. Ids are hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedSpan {
    /// Its name.
    pub name: String,
    /// Id of its trace.
    pub trace: String,
    /// Its id.
    pub id: String,
    /// Id of the span above; empty if there is none.
    pub parent: String,
    /// Its attributes that are texts.
    pub attributes: Vec<(String, String)>,
    /// The traces that it is linked with.
    pub links: Vec<String>,
    /// Number of its events.
    pub events: usize,
}

impl From<Span> for PostedSpan {
    fn from(span: Span) -> Self {
        let attributes = span.attributes.into_iter().map(|one| {
            let value = match one.value.and_then(|value| value.value) {
                Some(Value::StringValue(text)) => text,
                _ => String::new(),
            };
            (one.key, value)
        });
        Self {
            name: span.name,
            trace: hex::encode(span.trace_id),
            id: hex::encode(span.span_id),
            parent: hex::encode(span.parent_span_id),
            attributes: attributes.collect(),
            links: span
                .links
                .iter()
                .map(|link| hex::encode(&link.trace_id))
                .collect(),
            events: span.events.len(),
        }
    }
}

/// Returns the spans of all requests, each of which must be a post of spans.
pub fn read_posted_spans(requests: &[Request]) -> Vec<PostedSpan> {
    let read = |request: &Request| {
        assert_eq!(request.line, "POST /v1/traces");
        ExportTraceServiceRequest::decode(request.bytes.as_slice()).unwrap()
    };
    let resources = requests.iter().map(read).flat_map(|post| post.resource_spans);
    let scopes = resources.flat_map(|resource| resource.scope_spans);
    scopes
        .flat_map(|scope| scope.spans)
        .map(PostedSpan::from)
        .collect()
}
