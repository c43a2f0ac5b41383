//! Gives each request a correlation id, which stands in its span, in every record and in the response.
//!
//! The id is generated here. The client's own id replaces it only after the client has proven who it is, so that text
//! from strangers reaches no log and no answer. The client's own id is `X-Correlation-Id`, else the trace id of a valid
//! `traceparent`. A trace begins then, too: strangers cause no span.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use recado_domain::ids::CorrelationId;
use recado_domain::trace_context::{TraceId, TraceParent};
use recado_pipeline::trace_span::{continue_trace, link_client_span};
use recado_pipeline::{Deps, random_id};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::{Instrument, Span};

/// The header that carries the correlation id, in requests and in responses.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-correlation-id");

/// The two correlation ids of a request: the generated one and the client's own.
#[derive(Debug, Clone)]
pub(crate) struct RequestCorrelation(Arc<CorrelationIds>);

#[derive(Debug)]
struct CorrelationIds {
    own: CorrelationId,
    given: Option<CorrelationId>,
    /// The header `traceparent`, if it is valid.
    client: Option<TraceParent>,
    proven: AtomicBool,
}

impl RequestCorrelation {
    fn from_headers(own: CorrelationId, headers: &HeaderMap) -> Self {
        let client = find_client_trace(headers);
        let of_trace = || client.and_then(|client| client.trace.to_correlation());
        Self(Arc::new(CorrelationIds {
            own,
            given: client_correlation_id(headers).or_else(of_trace),
            client,
            proven: AtomicBool::new(false),
        }))
    }

    /// Puts a new span of the request into the trace of the id that counts. It stands below the client's span if that is the
    /// client's trace, too. Otherwise it is linked with it. To be called after the client has proven who it is.
    pub(crate) fn begin_request_span(&self, span: &Span) {
        let id = self.current_id();
        let (same, other) = match self.0.client {
            Some(client) if client.trace == TraceId::of_correlation(id) => (Some(client.parent), None),
            other => (None, other),
        };
        if let Some(client) = other {
            link_client_span(span, client);
        }
        continue_trace(span, id, same);
    }

    /// Switches to the client's own id, if the client sent a valid one. To be called after the client has proven who it
    /// is. Returns the id that counts from now on.
    pub(crate) fn accept_client_id(&self) -> CorrelationId {
        self.0.proven.store(true, Ordering::Relaxed);
        if let Some(given) = &self.0.given {
            Span::current().record("correlation_id", given.as_str());
        }
        self.current_id().clone()
    }

    fn current_id(&self) -> &CorrelationId {
        let proven = self.0.proven.load(Ordering::Relaxed);
        self.0.given.as_ref().filter(|_| proven).unwrap_or(&self.0.own)
    }
}

/// Gives the request its correlation id (as an extension) and its span. The response gets the id and the headers of
/// every response.
///
/// The span carries the matched route, not the path: a path can hold a secret. A path below `/webhooks/{provider}`
/// does, where a provider can send no header.
pub(crate) async fn attach_correlation(
    State(deps): State<Arc<Deps>>,
    mut request: Request,
    next: Next,
) -> Response {
    let correlation = RequestCorrelation::from_headers(
        random_id::generate_correlation_id(deps.system()),
        request.headers(),
    );
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let span = tracing::info_span!(
        "request",
        correlation_id = %correlation.current_id(),
        method = %request.method(),
        route = route.unwrap_or("none"),
    );
    request.extensions_mut().insert(correlation.clone());
    let mut response = next.run(request).instrument(span).await;
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(correlation.current_id().as_str()) {
        headers.insert(HEADER, value);
    }
    // Answers hold secrets and text that people wrote, so they must not be cached; browsers must not guess their type.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// Returns the trace in which the client sent the request. `None`: the header is missing, not valid, or there are several.
fn find_client_trace(headers: &HeaderMap) -> Option<TraceParent> {
    let mut values = headers.get_all("traceparent").iter();
    let only = values.next().filter(|_| values.next().is_none())?;
    TraceParent::parse_header(only.to_str().ok()?)
}

/// Returns the client's own id, if it sent a valid one.
fn client_correlation_id(headers: &HeaderMap) -> Option<CorrelationId> {
    CorrelationId::parse(headers.get(HEADER)?.to_str().ok()?).ok()
}
