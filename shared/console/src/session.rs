//! The session of a person: the token that the person signed in with, in a cookie that only the browser and Recado read.
//!
//! Nothing is stored for a session. A token that is revoked or expires ends it with the next request.

use crate::Console;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

/// The name of the cookie.
const COOKIE: &str = "recado_session";

/// The time after which a browser forgets the session, in seconds: a working day.
const SESSION_SECONDS: u32 = 12 * 60 * 60;

/// The facts about the token of a session, as `GET /v1/token` tells them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TokenFacts {
    pub(crate) name: String,
    pub(crate) role: String,
    /// The tenant that the token is limited to. `None`: the whole installation.
    pub(crate) tenant: Option<String>,
    /// The routes that the token opens, as `METHOD path`.
    pub(crate) routes: Vec<String>,
}

/// A person who is signed in.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) token: String,
    pub(crate) facts: TokenFacts,
}

impl Session {
    /// Returns `true` if the session's token opens the route.
    pub(crate) fn opens_route(&self, method: &str, route: &str) -> bool {
        self.facts
            .routes
            .iter()
            .any(|opened| opened.split_once(' ') == Some((method, route)))
    }
}

/// Lets a request pass if its cookie holds a token that the API knows. A page is answered with the way to the sign-in, all
/// else with a 401.
pub(crate) async fn require_session(
    State(console): State<Console>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(token) = read_session_cookie(request.headers()) else {
        return ask_to_sign_in(&request);
    };
    match find_session(&console, token).await {
        Ok(session) => {
            request.extensions_mut().insert(session);
            next.run(request).await
        }
        Err(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => ask_to_sign_in(&request),
        Err(status) => status.into_response(),
    }
}

/// Asks the API what the token opens. The error is the status of a refusal.
pub(crate) async fn find_session(console: &Console, token: String) -> Result<Session, StatusCode> {
    let facts = console.api.read_json_answer("/v1/token", &token).await;
    let facts = facts.map_err(|refusal| refusal.status)?;
    let facts = serde_json::from_value(facts).map_err(|_| StatusCode::BAD_GATEWAY)?;
    Ok(Session { token, facts })
}

fn ask_to_sign_in(request: &Request) -> Response {
    let is_part = request.headers().contains_key("hx-request");
    let is_page =
        request.method() == axum::http::Method::GET && !request.uri().path().starts_with("/console/api/");
    let wanted = request
        .uri()
        .path_and_query()
        .map_or("/console", |path| path.as_str());
    let target = format!(
        "/console/sign-in?next={}",
        utf8_percent_encode(wanted, NON_ALPHANUMERIC)
    );
    if is_part {
        let header = HeaderValue::from_str(&target).unwrap_or(HeaderValue::from_static("/console/sign-in"));
        return (StatusCode::UNAUTHORIZED, [("hx-redirect", header)]).into_response();
    }
    if is_page {
        return Redirect::to(&target).into_response();
    }
    StatusCode::UNAUTHORIZED.into_response()
}

/// Makes the cookie that begins a session. `is_secure`: the browser sends it over TLS alone.
pub(crate) fn make_session_cookie(token: &str, is_secure: bool) -> String {
    let value = URL_SAFE_NO_PAD.encode(token);
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path=/console; HttpOnly; SameSite=Strict; Max-Age={SESSION_SECONDS}{secure}")
}

/// Makes the cookie that ends a session.
pub(crate) fn make_ended_cookie() -> String {
    format!("{COOKIE}=; Path=/console; HttpOnly; SameSite=Strict; Max-Age=0")
}

/// Returns the token in the session's cookie.
pub(crate) fn read_session_cookie(headers: &HeaderMap) -> Option<String> {
    let value = read_cookie(headers, COOKIE)?;
    String::from_utf8(URL_SAFE_NO_PAD.decode(value).ok()?).ok()
}

/// Returns the value of a cookie of the request.
pub(crate) fn read_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).into_iter();
    let mut pairs = cookies
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Returns `true` if the browser reached Recado over TLS, as the proxy in front of it says.
pub(crate) fn is_secure_request(headers: &HeaderMap) -> bool {
    let forwarded = headers
        .get("x-forwarded-proto")
        .and_then(|value| value.to_str().ok());
    forwarded.is_some_and(|protocol| protocol.eq_ignore_ascii_case("https"))
}
