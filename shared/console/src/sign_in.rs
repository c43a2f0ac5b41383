//! Signing in and out.

use crate::Console;
use crate::page_request::PageLanguage;
use crate::page_response::{self, redirect_to_page};
use crate::session::{find_session, is_secure_request, make_ended_cookie, make_session_cookie};
use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use minijinja::context;
use serde::Deserialize;

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

/// Begins a session with the token of the form. A wrong token is a 401 with the form.
pub(crate) async fn sign_in(
    State(console): State<Console>,
    headers: HeaderMap,
    Form(form): Form<SignInForm>,
) -> Response {
    let token = form.token.trim().to_owned();
    match find_session(&console, token.clone()).await {
        Ok(_) => begin_session(&token, &headers, &keep_console_path(form.next)),
        Err(StatusCode::FORBIDDEN) => render_form(&console, &headers, form.next, Some("sign_in.role")),
        Err(StatusCode::UNAUTHORIZED) => render_form(&console, &headers, form.next, Some("sign_in.wrong")),
        Err(_) => render_form(&console, &headers, form.next, Some("sign_in.unavailable")),
    }
}

/// Begins a session by the link that the start prints. A link that was used leads to the form.
pub(crate) async fn open_one_time_link(
    State(console): State<Console>,
    Path(code): Path<String>,
    headers: HeaderMap,
) -> Response {
    let link = console.options.one_time_link.as_ref();
    match link.and_then(|link| link.use_code(&code)) {
        Some(token) => begin_session(&token, &headers, "/console"),
        None => render_form(&console, &headers, None, Some("sign_in.used_link")),
    }
}

/// Ends the session.
pub(crate) async fn end_own_session() -> Response {
    let mut response = redirect_to_page("/console/sign-in");
    if let Ok(cookie) = HeaderValue::from_str(&make_ended_cookie()) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

fn begin_session(token: &str, headers: &HeaderMap, target: &str) -> Response {
    let mut response = redirect_to_page(target);
    if let Ok(cookie) = HeaderValue::from_str(&make_session_cookie(token, is_secure_request(headers))) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
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
