//! Signs in and out, and limits how often a wrong token is tried.

use crate::Console;
use crate::page_request::PageLanguage;
use crate::page_response::{self, redirect_to_page};
use crate::session::{Session, is_secure_request, make_ended_cookies, make_session_cookie};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Form};
use minijinja::context;
use recado_domain::access::GuessLimit;
use recado_domain::secret::Secret;
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The page that a person came from, to which the sign-in leads back.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct WantedPage {
    next: Option<String>,
}

/// The fields of the sign-in form.
#[derive(Debug, Deserialize)]
pub(crate) struct SignInForm {
    token: String,
    next: Option<String>,
}

/// Shows the form in which a person enters a token.
pub(crate) async fn show_sign_in(
    State(console): State<Console>,
    Query(wanted): Query<WantedPage>,
    headers: HeaderMap,
) -> Response {
    render_form(&console, &headers, wanted.next, None)
}

/// Begins a session with the token of the form. A wrong token is a 401 with the form, and a 429 after many of them. A token that opens
/// the console is never held up, however many wrong ones others try.
pub(crate) async fn sign_in(
    State(console): State<Console>,
    headers: HeaderMap,
    Form(form): Form<SignInForm>,
) -> Response {
    match console.api.begin_session(form.token.trim()).await {
        Ok(session) => begin_session(&session, &headers, &keep_console_path(form.next)),
        Err(refusal) => match refusal.status {
            StatusCode::FORBIDDEN => render_form(&console, &headers, form.next, Some("sign_in.role")),
            StatusCode::UNAUTHORIZED => match console.sign_in_limit.note_wrong_token(Instant::now()) {
                Some(wait) => refuse_for_now(&console, &headers, form.next, wait),
                None => render_form(&console, &headers, form.next, Some("sign_in.wrong")),
            },
            _ => render_form(&console, &headers, form.next, Some("sign_in.unavailable")),
        },
    }
}

/// Asks to try again later, after many wrong tokens.
fn refuse_for_now(console: &Console, headers: &HeaderMap, next: Option<String>, wait: Duration) -> Response {
    let mut response = render_form(console, headers, next, Some("sign_in.too_many"));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    let seconds = HeaderValue::from(wait.as_secs().saturating_add(1));
    response.headers_mut().insert(header::RETRY_AFTER, seconds);
    response
}

/// Begins a session by the link that the start prints. A link that was used leads to the form.
pub(crate) async fn open_one_time_link(
    State(console): State<Console>,
    Path(code): Path<String>,
    headers: HeaderMap,
) -> Response {
    let link = console.options.one_time_link.as_ref();
    let Some(token) = link.and_then(|link| link.use_code(&code)) else {
        return render_form(&console, &headers, None, Some("sign_in.used_link"));
    };
    match console.api.begin_session(&token).await {
        Ok(session) => begin_session(&session, &headers, "/console"),
        Err(_) => render_form(&console, &headers, None, Some("sign_in.unavailable")),
    }
}

/// Ends the session on the server, and in the browser. If the server cannot end it, the browser keeps it, so that the person can try
/// again.
pub(crate) async fn end_own_session(
    State(console): State<Console>,
    Extension(session): Extension<Session>,
) -> Response {
    if let Err(refusal) = console.api.end_session(&session.secret).await {
        return refusal.status.into_response();
    }
    let mut response = redirect_to_page("/console/sign-in");
    for cookie in make_ended_cookies() {
        append_cookie(&mut response, &cookie);
    }
    response
}

fn begin_session(session: &Secret, headers: &HeaderMap, target: &str) -> Response {
    let mut response = redirect_to_page(target);
    append_cookie(
        &mut response,
        &make_session_cookie(session, is_secure_request(headers)),
    );
    response
}

fn append_cookie(response: &mut Response, cookie: &str) {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// Returns the path if it is one of the console. So no link leads a person who signs in to another site.
fn keep_console_path(next: Option<String>) -> String {
    let is_ours =
        |path: &String| path == "/console" || path.starts_with("/console/") || path.starts_with("/console?");
    next.filter(is_ours).unwrap_or_else(|| "/console".to_owned())
}

fn render_form(
    console: &Console,
    headers: &HeaderMap,
    next: Option<String>,
    refusal: Option<&str>,
) -> Response {
    let language = PageLanguage::from_headers(headers);
    let next = keep_console_path(next);
    let page = console.templates.render(
        language,
        "sign_in.html",
        context! { refusal, next, section => "sign_in" },
    );
    let status = if refusal.is_some() {
        StatusCode::UNAUTHORIZED
    } else {
        StatusCode::OK
    };
    (status, page_response::html_or_error(page)).into_response()
}

/// The wrong tokens of the last time, of all browsers together: a stranger has any number of addresses. Who is signed in, or shows
/// a token that opens the console, is not concerned.
#[derive(Debug)]
pub(crate) struct SignInLimit {
    /// Times are counted from then on.
    begun: Instant,
    limit: Mutex<GuessLimit>,
}

impl Default for SignInLimit {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            limit: Mutex::default(),
        }
    }
}

impl SignInLimit {
    /// Notes a wrong token. If too many were tried, returns the time after which one may be tried again, and notes none.
    fn note_wrong_token(&self, now: Instant) -> Option<Duration> {
        let now = now.saturating_duration_since(self.begun);
        let mut limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        limit.note_wrong_token(now)
    }
}
