//! The session of a person: a text in a cookie that only the browser and Recado read. It is no token: only the console's own requests
//! within the process can show it to the API.
//!
//! The API stores its hash, renews it while it is used, and deletes it at the sign-out. A token that is revoked or expires ends the
//! sessions that began with it with their next request.

use crate::Console;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use recado_domain::access::ConsoleSession;
use recado_domain::secret::Secret;
use serde::{Deserialize, Serialize};

/// The name of the cookie where the browser reached Recado over TLS. By the prefix, browsers take it from this very host alone.
const SECURE_COOKIE: &str = "__Host-recado_session";

/// The name of the cookie without TLS.
const PLAIN_COOKIE: &str = "recado_session";

/// The time after which a browser forgets the session, in seconds. Each page begins it anew.
const SESSION_SECONDS: i64 = ConsoleSession::IDLE.as_secs();

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
    /// The session's text.
    pub(crate) secret: Secret,
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

    /// Returns `true` if the session's token opens a route that has this path, with or without a query.
    pub(crate) fn opens_path(&self, method: &str, path: &str) -> bool {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let has_path = |route: &str| {
            let (mut parts, mut asked) = (route.split('/'), path.split('/'));
            loop {
                match (parts.next(), asked.next()) {
                    (None, None) => return true,
                    (Some(part), Some(_)) if part.starts_with('{') => {}
                    (Some(part), Some(given)) if part == given => {}
                    _ => return false,
                }
            }
        };
        let mut opened = self
            .facts
            .routes
            .iter()
            .filter_map(|opened| opened.split_once(' '));
        opened.any(|(known, route)| known == method && has_path(route))
    }
}

/// Lets a request pass if its cookie holds a session that the API knows. Pages and changes keep the cookie for longer. Without a
/// session a whole page is answered with the way to the sign-in. All else gets a 401, and the page tells it in its place.
pub(crate) async fn require_session(
    State(console): State<Console>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(secret) = read_session_cookie(request.headers()) else {
        return ask_to_sign_in(&request);
    };
    let renewed = is_use_of_person(&request)
        .then(|| make_session_cookie(&secret, is_secure_request(request.headers())));
    match find_session(&console, secret).await {
        Ok(session) => {
            request.extensions_mut().insert(session);
            let mut response = next.run(request).await;
            if let Some(Ok(cookie)) = renewed.map(|cookie| HeaderValue::from_str(&cookie)) {
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
            response
        }
        Err(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => ask_to_sign_in(&request),
        Err(status) => status.into_response(),
    }
}

/// Returns `true` if a request asks for a whole page.
fn is_page_request(request: &Request) -> bool {
    request.method() == Method::GET
        && !request.uri().path().starts_with("/console/api/")
        && !request.headers().contains_key("hx-request")
}

/// Returns `true` if a person made the request: a whole page, or a change. A part of a page is read again by itself.
fn is_use_of_person(request: &Request) -> bool {
    let changes = request.method() != Method::GET && request.uri().path().starts_with("/console/api/");
    changes || is_page_request(request)
}

/// Asks the API what the session opens. The error is the status of a refusal.
pub(crate) async fn find_session(console: &Console, secret: Secret) -> Result<Session, StatusCode> {
    let facts = console.api.read_json_answer("/v1/token", &secret).await;
    let facts = facts.map_err(|refusal| refusal.status)?;
    let facts = serde_json::from_value(facts).map_err(|_| StatusCode::BAD_GATEWAY)?;
    Ok(Session { secret, facts })
}

fn ask_to_sign_in(request: &Request) -> Response {
    if !is_page_request(request) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let wanted = request
        .uri()
        .path_and_query()
        .map_or("/console", |path| path.as_str());
    let target = format!(
        "/console/sign-in?next={}",
        utf8_percent_encode(wanted, NON_ALPHANUMERIC)
    );
    Redirect::to(&target).into_response()
}

/// Makes the cookie that begins a session. `is_secure`: the browser sends it over TLS alone.
pub(crate) fn make_session_cookie(session: &Secret, is_secure: bool) -> String {
    let value = session.expose_secret();
    write_cookie(is_secure, value, SESSION_SECONDS)
}

/// Makes the cookies that end a session, with TLS and without.
pub(crate) fn make_ended_cookies() -> [String; 2] {
    [true, false].map(|is_secure| write_cookie(is_secure, "", 0))
}

fn write_cookie(is_secure: bool, value: &str, seconds: i64) -> String {
    // The prefix of the secure one asks for the whole host.
    let (name, path, secure) = if is_secure {
        (SECURE_COOKIE, "/", "; Secure")
    } else {
        (PLAIN_COOKIE, "/console", "")
    };
    format!("{name}={value}; Path={path}; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// Returns the text of the session's cookie. Over TLS the one without the prefix does not count: another host could have set it.
pub(crate) fn read_session_cookie(headers: &HeaderMap) -> Option<Secret> {
    let name = if is_secure_request(headers) {
        SECURE_COOKIE
    } else {
        PLAIN_COOKIE
    };
    Secret::new(read_cookie(headers, name)?)
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
