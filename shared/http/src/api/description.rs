//! `GET /openapi.json` describes the API in `OpenAPI` 3.1, and `GET /docs` is a page that shows it.
//!
//! The description is made of the lists of routes. What holds for every operators' route is added here, once.

use super::problem_answers::{add_common_answers, add_problems};
use super::{Api, ApiContext};
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Components, Info, OpenApi, Tag};

/// The name of the operators' token in the description.
const OPERATOR_TOKEN: &str = "operator_token";

const INTRODUCTION: &str = "\
What operators, monitors and programs of your own ask of Recado. The webhooks are not part of it: providers call them, \
each in its own format.

Errors are `application/problem+json` (RFC 9457). Lists hold `items` and `next_cursor`; the next page is requested with \
that `cursor`. Every answer has the header `X-Correlation-Id`: the id that the request gave there, or a new one. Fields \
are added to answers, never renamed, so a client must ignore fields that it does not know.";

const PAGE: &str = include_str!("description/page.html");
const SCRIPT: &str = include_str!("description/page.js");

/// The page loads its script and the description from here, and nothing from elsewhere.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; \
                           base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The groups of routes, in the order in which a reader meets them.
const TAGS: [&str; 8] = [
    "Health",
    "Conversations",
    "Messages",
    "Instances",
    "Configuration",
    "Dead letters",
    "Traces",
    "Description",
];

/// Makes the description of the API from the routes that need no token and those that need the operators'.
pub(super) fn describe_api(public: OpenApi, mut operators: OpenApi) -> OpenApi {
    for operation in operators.paths.paths.values_mut().flat_map(list_operations) {
        let token = SecurityRequirement::new(OPERATOR_TOKEN, Vec::<String>::new());
        operation.security = Some(vec![token]);
    }
    let mut info = Info::new("Recado", env!("CARGO_PKG_VERSION"));
    info.description = Some(INTRODUCTION.to_owned());
    let mut api = public;
    api.info = info;
    api.tags = Some(TAGS.map(Tag::new).into());
    api.merge(operators);
    let operations = api.paths.paths.values_mut().flat_map(list_operations);
    for operation in operations.filter(|operation| operation.security.is_some()) {
        add_common_answers(operation);
    }
    let components = api.components.get_or_insert_with(Components::new);
    add_problems(components);
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme(OPERATOR_TOKEN, bearer);
    api
}

fn list_operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get,
        put,
        post,
        patch,
        delete,
        ..
    } = item;
    [get, put, post, patch, delete].into_iter().flatten()
}

/// Returns this description.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "Description",
    responses((status = 200, body = Object, description = "The description"))
)]
pub(super) async fn get_openapi(State(api): State<Api<impl ApiContext>>) -> impl IntoResponse {
    Json(api.describe()).into_response()
}

/// Returns a page that shows this description in a browser, and sends requests.
#[utoipa::path(
    get,
    path = "/docs",
    tag = "Description",
    responses((status = 200, body = String, content_type = "text/html", description = "The page"))
)]
pub(super) async fn get_docs_page() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, PAGE)
}

/// Returns the script of the page.
#[utoipa::path(
    get,
    path = "/docs.js",
    tag = "Description",
    responses((status = 200, body = String, content_type = "text/javascript", description = "The script"))
)]
pub(super) async fn get_docs_script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)
}
