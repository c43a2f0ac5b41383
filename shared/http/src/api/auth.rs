//! Checks the operators' bearer token.

use super::{Api, ApiContext};
use crate::correlation::RequestCorrelation;
use crate::keys::Keys;
use crate::problem::HttpProblem;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

/// Lets a request pass if it carries the operators' token. If no token is configured, every request is refused.
pub(super) async fn require_operator(
    State(api): State<Api<impl ApiContext>>,
    mut request: Request,
    next: Next,
) -> Result<Response, HttpProblem> {
    check_operator_token(&*api.keys, request.headers()).await?;
    if let Some(correlation) = request.extensions().get::<RequestCorrelation>() {
        let id = correlation.accept_client_id();
        request.extensions_mut().insert(id);
    }
    Ok(next.run(request).await)
}

/// Checks that the request carries the operators' token. The error is a 401, or a 503 if no token is configured or it
/// cannot be read.
pub(super) async fn check_operator_token<K: Keys>(keys: &K, headers: &HeaderMap) -> Result<(), HttpProblem> {
    let Some(token) = keys.operator_token().await? else {
        tracing::error!("a request was refused because no operator token is configured");
        return Err(HttpProblem::unavailable("no operator token is configured"));
    };
    match bearer_token(headers) {
        Some(shown) if token.matches(shown) => Ok(()),
        // RFC 6750, section 3: the code `invalid_token` is sent only if the request carried a token.
        Some(_) => Err(token_challenge(r#"Bearer realm="recado", error="invalid_token""#)),
        None => Err(token_challenge(r#"Bearer realm="recado""#)),
    }
}

fn token_challenge(challenge: &'static str) -> HttpProblem {
    HttpProblem::new(StatusCode::UNAUTHORIZED, "the operator token is missing or wrong")
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
