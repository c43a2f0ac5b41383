//! Gives each request a correlation id, which stands in its span, in every record and in the response.
//!
//! The id is generated here. The client's own id replaces it only after the client has proven who it is, so that text
//! from strangers reaches no log and no answer.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use recado_domain::ids::CorrelationId;
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
    proven: AtomicBool,
}

impl RequestCorrelation {
    fn from_headers(own: CorrelationId, headers: &HeaderMap) -> Self {
        Self(Arc::new(CorrelationIds {
            own,
            given: client_correlation_id(headers),
            proven: AtomicBool::new(false),
        }))
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
pub(crate) async fn attach_correlation<Ports: Deps>(
    State(deps): State<Arc<Ports>>,
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

/// Returns the client's own id, if it sent a valid one.
fn client_correlation_id(headers: &HeaderMap) -> Option<CorrelationId> {
    CorrelationId::parse(headers.get(HEADER)?.to_str().ok()?).ok()
}
