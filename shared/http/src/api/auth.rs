//! The operators' bearer token.

use super::Api;
use crate::correlation::Correlation;
use crate::keys::Keys;
use crate::problem::Problem;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

/// Lets operators pass. Without a configured token nobody is one.
pub(super) async fn operators_only<W: Send + Sync, K: Keys, D: Send + Sync>(
    State(api): State<Api<W, K, D>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    admit(&*api.keys, request.headers()).await?;
    if let Some(correlation) = request.extensions().get::<Correlation>() {
        let id = correlation.prove();
        request.extensions_mut().insert(id);
    }
    Ok(next.run(request).await)
}

/// Whether the request shows the operators' token; else what it is told.
pub(super) async fn admit<K: Keys>(keys: &K, headers: &HeaderMap) -> Result<(), Problem> {
    let Some(token) = keys.operator_token().await? else {
        tracing::error!("a request was refused because no operator token is configured");
        return Err(Problem::unavailable("no operator token is configured"));
    };
    match bearer(headers) {
        Some(shown) if token.matches(shown) => Ok(()),
        // RFC 6750, section 3: the error is named only to who showed a token.
        Some(_) => Err(refused(r#"Bearer realm="recado", error="invalid_token""#)),
        None => Err(refused(r#"Bearer realm="recado""#)),
    }
}

fn refused(challenge: &'static str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "the operator token is missing or wrong")
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
