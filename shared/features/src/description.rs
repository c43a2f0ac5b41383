//! `GET /openapi.json` describes the API in `OpenAPI` 3.1, and `GET /docs` is a page that shows it.

use axum::http::header;
use axum::response::IntoResponse;

/// The description of the API, which the tests keep equal to the routes. Making it at run time would cost each process
/// some megabytes.
const DESCRIPTION: &str = include_str!("../../../docs/openapi.json");

const PAGE: &str = include_str!("description/page.html");
const SCRIPT: &str = include_str!("description/page.js");

/// The page loads its script and the description from here, and nothing from elsewhere.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; \
                           base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns this description.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/openapi.json",
    responses((status = 200, body = Object, description = "The description"))
))]
pub(crate) async fn get_openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION)
}

/// Returns a page that shows this description in a browser, and sends requests.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/docs",
    responses((status = 200, body = String, content_type = "text/html", description = "The page"))
))]
pub(crate) async fn get_docs_page() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, PAGE)
}

/// Returns the script of the page.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/docs.js",
    responses((status = 200, body = String, content_type = "text/javascript", description = "The script"))
))]
pub(crate) async fn get_docs_script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)
}
