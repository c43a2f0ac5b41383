//! Finds the caller that a request's bearer token stands for, and checks its permission.

use crate::api::context::{Api, RoutePermission};
use crate::correlation::RequestCorrelation;
use crate::problem::HttpProblem;
use crate::problem_code::ProblemCode;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use recado_access as tokens;
use recado_domain::access::{
    Caller, ConsoleRequest, Permission, TOKEN_LENGTH_MIN, TokenRole, is_strong_token,
};
use recado_domain::secret::Secret;
use recado_pipeline::trace_span::TRACE_TARGET;
use tracing::{Instrument, Span};

/// Path of the metrics, which have a token of their own.
pub const METRICS_PATH: &str = "/metrics";

/// Lets a request pass if its token's role has the permission that the route needs. The caller is added to the request. What only
/// reads is no span of a trace: the console and monitors would fill the traces with it.
pub async fn require_permission(
    State(api): State<Api>,
    path: MatchedPath,
    mut request: Request,
    next: Next,
) -> Result<Response, HttpProblem> {
    let mut caller = match identify_metrics_reader(&api, path.as_str(), request.headers()).await? {
        Some(caller) => caller,
        None => {
            identify_asker(
                &api,
                request.extensions().get::<ConsoleRequest>(),
                request.headers(),
            )
            .await?
        }
    };
    check_permission(&api, &caller, request.method(), path.as_str())?;
    let mut span = Span::none();
    if let Some(correlation) = request.extensions().get::<RequestCorrelation>() {
        let id = correlation.accept_client_id();
        if !request.method().is_safe() {
            span = tracing::info_span!(
                target: TRACE_TARGET, "api", method = %request.method(), route = path.as_str(), correlation_id = %id
            );
            correlation.begin_request_span(&span);
        }
        caller.request = Some(id.clone());
        request.extensions_mut().insert(id);
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).instrument(span).await)
}

/// Returns the caller that the metrics' own token stands for, if the request is for the metrics and carries it.
async fn identify_metrics_reader(
    api: &Api,
    path: &str,
    headers: &HeaderMap,
) -> Result<Option<Caller>, HttpProblem> {
    if path != METRICS_PATH {
        return Ok(None);
    }
    let own = api.keys.metrics_token().await?;
    let shown = bearer_token(headers);
    let ours = own.is_some_and(|own| {
        own.expose_secret().len() >= TOKEN_LENGTH_MIN && shown.is_some_and(|shown| own.matches(shown))
    });
    Ok(ours.then(|| Caller {
        role: TokenRole::Viewer,
        ..Caller::installation()
    }))
}

/// Returns the caller of a request: of the session that the console shows, else of the token in the headers.
pub async fn identify_asker(
    api: &Api,
    console: Option<&ConsoleRequest>,
    headers: &HeaderMap,
) -> Result<Caller, HttpProblem> {
    let Some(ConsoleRequest::Session(session)) = console else {
        return identify_caller(api, headers).await;
    };
    let own = require_own_token(api).await?;
    let found = tokens::find_session_caller(&api.deps, session, &own).await?;
    found.ok_or_else(|| token_challenge(r#"Bearer realm="recado""#))
}

/// Returns the installation's own token. The error is a 503: without a strong one nobody gets in.
async fn require_own_token(api: &Api) -> Result<Secret, HttpProblem> {
    let own = api.keys.operator_token().await?;
    own.filter(|own| is_strong_token(own.expose_secret())).ok_or_else(|| {
        tracing::error!(
            "a request was refused because no operator token of {TOKEN_LENGTH_MIN} characters, and no mere repetition, is configured"
        );
        HttpProblem::unavailable("no operator token is configured")
    })
}

/// Returns the caller whose token the request carries. The error is a 401, or a 503 if no installation's token is
/// configured or the tokens cannot be read.
pub async fn identify_caller(api: &Api, headers: &HeaderMap) -> Result<Caller, HttpProblem> {
    let own = require_own_token(api).await?;
    let Some(shown) = bearer_token(headers) else {
        return Err(token_challenge(r#"Bearer realm="recado""#));
    };
    if own.matches(shown) {
        return Ok(Caller::installation());
    }
    if let Some(caller) = tokens::find_caller(&api.deps, shown).await? {
        return Ok(caller);
    }
    api.refused_tokens.note_refusal(api.deps.system().now());
    // RFC 6750, section 3: the code `invalid_token` is sent only if the request carried a token.
    Err(token_challenge(r#"Bearer realm="recado", error="invalid_token""#))
}

/// Checks that the caller's role has the permission that the route needs. The error is a 403.
pub fn check_permission(api: &Api, caller: &Caller, method: &Method, path: &str) -> Result<(), HttpProblem> {
    let needed = find_permission(api.permissions, method, path);
    if needed.is_some_and(|needed| caller.role.permits(needed)) {
        return Ok(());
    }
    Err(HttpProblem::new(
        StatusCode::FORBIDDEN,
        format!("a token with the role `{}` does not open this", caller.role),
    )
    .with_code(Some(ProblemCode::Role)))
}

/// Returns the permission that a route needs. `None`: the table lacks the route, so nobody may use it.
fn find_permission(table: &[RoutePermission], method: &Method, path: &str) -> Option<Permission> {
    // axum answers HEAD by the handler of GET.
    let method = if *method == Method::HEAD {
        "GET"
    } else {
        method.as_str()
    };
    let entry = table
        .iter()
        .find(|(known, route, _)| *known == method && *route == path);
    entry.map(|(_, _, permission)| *permission)
}

fn token_challenge(challenge: &'static str) -> HttpProblem {
    HttpProblem::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong")
        .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
}

pub fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
