//! `/unsubscribe/{token}`: the link of e-mails with which a person ends unsolicited messages.
//!
//! Anybody may ask: the token is the proof. `GET` changes nothing, because programs that check links follow them; it shows a page with
//! a button. `POST` ends the messages, by the button or by a mail program with one click (RFC 8058). Nothing names the tenant or the
//! person.

use crate::{UnsubscribeError, is_unsubscribe_token, unsubscribe_by_link};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use recado_http::api::context::Api;
use recado_http::api::request::PathParam;
use recado_http::problem::HttpProblem;

const ASK_PAGE: &str = include_str!("unsubscribe/ask.html");
const DONE_PAGE: &str = include_str!("unsubscribe/done.html");

/// The pages load nothing, and their form goes to their own address alone.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Answers with a page that nobody keeps, and whose address goes to nobody else.
fn answer_with_page(page: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, page).into_response()
}

fn unknown_link() -> HttpProblem {
    HttpProblem::not_found("this link is not one of this installation")
}

/// Returns a page with a button that ends messages.
///
/// The request changes nothing. The button sends the `POST` of this path.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/unsubscribe/{token}",
    params(("token" = String, Path, description = "The token of the link in an e-mail")),
    responses((status = 200, body = String, content_type = "text/html", description = "The page"))
))]
pub async fn get_unsubscribe_page(
    State(api): State<Api>,
    PathParam(token): PathParam<String>,
) -> Result<Response, HttpProblem> {
    if is_unsubscribe_token(&api.deps, &token).await? {
        Ok(answer_with_page(ASK_PAGE))
    } else {
        Err(unknown_link())
    }
}

/// Ends unsolicited messages.
///
/// The body is not read. The same link may be followed again.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/unsubscribe/{token}",
    params(("token" = String, Path, description = "The token of the link in an e-mail")),
    responses((status = 200, body = String, content_type = "text/html", description = "The messages end"))
))]
pub async fn post_unsubscribe(
    State(api): State<Api>,
    PathParam(token): PathParam<String>,
) -> Result<Response, HttpProblem> {
    match unsubscribe_by_link(&api.deps, &token).await {
        Ok(()) => Ok(answer_with_page(DONE_PAGE)),
        Err(UnsubscribeError::UnknownLink) => Err(unknown_link()),
        Err(UnsubscribeError::Port(error)) => Err(error.into()),
    }
}
