//! Passes requests of pages to the API: `/console/api/PATH` is `PATH` of the API, within the session.
//!
//! A form that is posted becomes the body that the API takes ([`form_body`](crate::form_body)). It names in `_method` the method, if it is
//! not POST, in `_then` the page that follows, or in `_show` the template that shows the answer in its place. All else is
//! passed on as it is: files that are uploaded, and the stream of events.

use crate::Console;
use crate::api_client::{ApiRefusal, read_answer};
use crate::form_body::{ApiForm, FormContent, FormError, FormFields};
use crate::page_request::PageLanguage;
use crate::page_response::{html_or_error, redirect_to_page};
use crate::session::Session;
use crate::templates::{find_answer_template, make_permission_test};
use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use minijinja::value::Serde;
use minijinja::{Value, context};

/// The prefix of the paths.
const PREFIX: &str = "/console/api";

/// The largest form, in bytes: a prompt of an agent fits.
const FORM_MAX: usize = 1024 * 1024;

/// The headers of a request that the API sees.
const PASSED_HEADERS: [HeaderName; 5] = [
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::ACCEPT,
    header::RANGE,
    HeaderName::from_static("last-event-id"),
];

/// Passes a request on. The answer to a form is the page that follows, or what the API refused, as a part of a page.
pub(crate) async fn pass_request(
    State(console): State<Console>,
    Extension(session): Extension<Session>,
    request: Request,
) -> Response {
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    let path = path.strip_prefix(PREFIX).unwrap_or_default().to_owned();
    let (parts, body) = request.into_parts();
    // The guard against other origins lets a request pass that changes nothing, so none becomes one that does.
    if parts.method != Method::POST || !is_console_form(&parts.headers) {
        let headers = pick_passed_headers(&parts.headers);
        return console
            .api
            .send_request(parts.method, &path, &session.secret, headers, body)
            .await;
    }
    let is_part = parts.headers.contains_key("hx-request");
    let language = PageLanguage::from_headers(&parts.headers);
    let Ok(bytes) = to_bytes(body, FORM_MAX).await else {
        return show_refusal(&console, language, &ApiRefusal::too_large(), is_part);
    };
    let refuse =
        |wrong: FormError| show_refusal(&console, language, &ApiRefusal::wrong_form(&wrong), is_part);
    let fields = match FormFields::split(&bytes) {
        Ok(fields) => fields,
        Err(wrong) => return refuse(wrong),
    };
    // Whoever may not send the request has nothing made of what was sent.
    if !session.opens_path(fields.method().as_str(), &path) {
        return show_refusal(&console, language, &ApiRefusal::closed_to_role(), is_part);
    }
    let form = match fields.into_request() {
        Ok(form) => form,
        Err(wrong) => return refuse(wrong),
    };
    let sent = send_form_request(&console, &session, &path, &form).await;
    match (sent, &form.shown_by) {
        (Ok(answer), Some(name)) => show_answer_to_form(&console, &session, language, name, &answer, is_part),
        (Ok(answer), None) => follow_sent_form(&form, &answer, &parts.headers),
        (Err(refusal), _) => show_refusal(&console, language, &refusal, is_part),
    }
}

fn is_console_form(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
}

fn pick_passed_headers(all: &HeaderMap) -> HeaderMap {
    let mut picked = HeaderMap::new();
    for name in PASSED_HEADERS {
        if let Some(value) = all.get(&name) {
            picked.insert(name, value.clone());
        }
    }
    picked
}

async fn send_form_request(
    console: &Console,
    session: &Session,
    path: &str,
    form: &ApiForm,
) -> Result<serde_json::Value, ApiRefusal> {
    let mut headers = HeaderMap::new();
    let mut set = |name: HeaderName, value: Option<&str>| {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(name, value);
        }
    };
    let body = match &form.body {
        Some(FormContent::Json(json)) => {
            set(header::CONTENT_TYPE, Some("application/json"));
            Body::from(json.to_string())
        }
        Some(FormContent::Text { text, mime_type }) => {
            set(header::CONTENT_TYPE, Some(mime_type));
            Body::from(text.clone())
        }
        None => Body::empty(),
    };
    set(
        HeaderName::from_static("idempotency-key"),
        form.idempotency_key.as_deref(),
    );
    set(header::IF_MATCH, form.replaced_version.as_deref());
    let path = format!("{path}{}", form.query);
    let response = console
        .api
        .send_request(form.method.clone(), &path, &session.secret, headers, body);
    read_answer(response.await).await
}

/// Leads to the page that follows. `{name}` in it is a field of the API's answer. The page on which the form is, is loaded
/// again in its place, so that a person goes on where the form is.
fn follow_sent_form(form: &ApiForm, answer: &serde_json::Value, headers: &HeaderMap) -> Response {
    let target = form.next_page(answer);
    if !headers.contains_key("hx-request") {
        return redirect_to_page(target.as_deref().unwrap_or("/console"));
    }
    let current = headers.get("hx-current-url").and_then(|url| url.to_str().ok());
    let current = current.and_then(|url| url.find("/console").map(|at| &url[at..]));
    let (name, value) = match target {
        Some(target) if Some(target.as_str()) == current => ("hx-refresh", "true".to_owned()),
        Some(target) => ("hx-redirect", target),
        None => ("hx-trigger", "saved".to_owned()),
    };
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(value) = HeaderValue::from_str(&value) {
        response.headers_mut().insert(name, value);
    }
    response
}

/// Shows what the API answered: as a part of the page, or as a page of its own to a browser without the pages' script.
fn show_answer_to_form(
    console: &Console,
    session: &Session,
    language: PageLanguage,
    name: &str,
    answer: &serde_json::Value,
    is_part: bool,
) -> Response {
    let Some(part) = find_answer_template(name) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let values = context! {
        answer => Value::from(Serde(answer)),
        may => make_permission_test(session.facts.routes.clone()),
        me => Value::from(Serde(&session.facts)),
        section => "",
        part,
    };
    let template = if is_part { part } else { "answer.html" };
    html_or_error(console.templates.render(language, template, values))
}

/// Shows what the API refused: in the page's own message line if the page's script asked, else as a page.
fn show_refusal(console: &Console, language: PageLanguage, refusal: &ApiRefusal, is_part: bool) -> Response {
    let values = context! {
        status => refusal.status.as_u16(), refusal => Value::from(Serde(refusal)), section => "",
    };
    let template = if is_part {
        "refusal_line.html"
    } else {
        "refusal.html"
    };
    (
        refusal.status,
        html_or_error(console.templates.render(language, template, values)),
    )
        .into_response()
}
