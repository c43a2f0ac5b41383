//! Answers of the console: HTML, redirects, and the headers of all.

use crate::{Console, ConsoleOptions};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};

/// Writes the content security policy: everything comes from here, and nothing inline runs. Files are also read where the API
/// redirects to, and a WebSocket is opened at the URL of push alone.
pub(crate) fn write_content_policy(options: &ConsoleOptions) -> String {
    let also = |source: Option<&String>| source.map(|source| format!(" {source}")).unwrap_or_default();
    let (files, push) = (
        also(options.file_origin.as_ref()),
        also(options.push_url.as_ref()),
    );
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'{push}; img-src 'self' data:{files}; \
         media-src 'self'{files}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// Adds the headers of every answer. A header that the handler set stays.
pub(crate) async fn add_headers(State(console): State<Console>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let policy = HeaderValue::from_str(&console.content_policy)
        .unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Answers with a rendered page, or with a 500 if its template failed.
pub(crate) fn html_or_error(page: Result<String, minijinja::Error>) -> Response {
    match page {
        Ok(page) => Html(page).into_response(),
        Err(error) => {
            tracing::error!(error = ?error, "a page of the console could not be rendered");
            (StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made").into_response()
        }
    }
}

/// Answers with a table for spreadsheets as a file, or with a 500 if its template failed.
pub(crate) fn csv_or_error(table: Result<String, minijinja::Error>, name: &str) -> Response {
    let mut response = html_or_error(table);
    if response.status().is_success() {
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/csv; charset=utf-8"),
        );
        let file = HeaderValue::from_str(&format!("attachment; filename=\"{name}.csv\""));
        headers.insert(
            header::CONTENT_DISPOSITION,
            file.unwrap_or(HeaderValue::from_static("attachment")),
        );
    }
    response
}

/// Answers with the way to another page, which is read by GET.
pub(crate) fn redirect_to_page(path: &str) -> Response {
    let target = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/console"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, target)]).into_response()
}
