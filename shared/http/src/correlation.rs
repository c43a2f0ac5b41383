//! The correlation id: from the client or made here, in the span of the request, in every record, in the response.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use recado_domain::ids::CorrelationId;
use recado_pipeline::{World, chance};
use std::sync::Arc;
use tracing::Instrument;
use tracing::field::Empty;

/// The header it comes and goes in.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-correlation-id");

/// Gives the request its id (an extension) and its span, and the response the header. The span carries the matched
/// route, not the path: a path can hold a secret (one below `/webhooks/{provider}` does, where a provider can send no header).
pub(crate) async fn follow<W: World>(
    State(world): State<Arc<W>>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = given(request.headers()).unwrap_or_else(|| chance::correlation(world.ambient()));
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map(|path| path.as_str().to_owned());
    let span = tracing::info_span!(
        "request",
        correlation_id = %id,
        method = %request.method(),
        route = route.as_deref().unwrap_or("none"),
        provider = Empty,
        events = Empty,
        duplicates = Empty,
        statuses = Empty,
        notices = Empty,
        ignored = Empty,
        status = Empty,
    );
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).instrument(span.clone()).await;
    span.record("status", response.status().as_u16());
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

/// The client's own id, if it is a sound one.
fn given(headers: &HeaderMap) -> Option<CorrelationId> {
    CorrelationId::parse(headers.get(HEADER)?.to_str().ok()?).ok()
}
