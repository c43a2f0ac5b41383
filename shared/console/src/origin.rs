//! Refuses requests that pages of others made (cross-site request forgery).

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Lets a request pass that changes nothing, or that a page of this origin made. All others are a 403.
///
/// Browsers say where a request comes from in `Sec-Fetch-Site`, older ones in `Origin`. A request with neither comes from no
/// browser; programs use the API.
pub(crate) async fn refuse_other_origins(request: Request, next: Next) -> Response {
    let changes_nothing = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if changes_nothing || is_same_origin(request.headers()) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "the request comes from another origin").into_response()
}

fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &axum::http::HeaderValue| value.to_str().ok())
    };
    if let Some(site) = text(header::HeaderName::from_static("sec-fetch-site")) {
        return site == "same-origin";
    }
    let origin = text(header::ORIGIN).and_then(|origin| origin.split_once("://"));
    origin.is_some_and(|(_, host)| Some(host) == text(header::HOST))
}
