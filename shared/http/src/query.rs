//! What comes in with a request: query parameters, JSON bodies, sizes.

use crate::problem::Problem;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use futures::StreamExt;
use recado_pipeline::ports::PageRequest;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// How many items a page may have, and how many it has if nobody says.
const LIMIT_MAX: usize = 200;
const LIMIT_USUAL: usize = 50;

/// The longest cursor that is passed on.
const CURSOR_MAX: usize = 2000;

/// Query parameters, or a 400 that says what is wrong with them.
#[derive(Debug)]
pub(crate) struct Params<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(error) => Err(Problem::bad_request(format!(
                "the query is malformed: {}",
                error.body_text()
            ))),
        }
    }
}

/// A path's parameter, or a 400.
#[derive(Debug)]
pub(crate) struct Segment<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Segment<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found: Result<Path<T>, PathRejection> = Path::from_request_parts(parts, state).await;
        found
            .map(|Path(value)| Self(value))
            .map_err(|_| Problem::bad_request("the path is malformed"))
    }
}

/// Checks what a list was asked for.
pub(crate) fn page(limit: Option<usize>, cursor: Option<String>) -> Result<PageRequest, Problem> {
    let limit = limit.unwrap_or(LIMIT_USUAL);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(Problem::bad_request(format!(
            "limit must be between 1 and {LIMIT_MAX}"
        )));
    }
    if cursor
        .as_ref()
        .is_some_and(|cursor| cursor.is_empty() || cursor.len() > CURSOR_MAX)
    {
        return Err(Problem::bad_request("the cursor is not one that a list gave"));
    }
    Ok(PageRequest { limit, cursor })
}

/// A body that is too large is read to its end and thrown away if it is no larger than this, in bytes: a client that is
/// still writing when the connection closes sees a broken pipe, and not the answer.
const DISCARDED_MAX: usize = 32 * 1024 * 1024;

/// Reads a body of at most `max` bytes. A larger `Content-Length` is refused; nothing of such a body is kept.
pub(crate) async fn read(headers: &HeaderMap, body: Body, max: usize) -> Result<Bytes, Problem> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if let Some(length) = announced.filter(|length| *length > max) {
        if length <= DISCARDED_MAX {
            let mut rest = body.into_data_stream();
            while let Some(Ok(_)) = rest.next().await {}
        }
        return Err(Problem::too_large(max));
    }
    let mut request = Request::new(body);
    DefaultBodyLimit::max(max).apply(&mut request);
    Bytes::from_request(request, &())
        .await
        .map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large(max),
            _ => Problem::bad_request("the body could not be read"),
        })
}

/// Reads a JSON body.
pub(crate) fn json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(body)
        .map_err(|error| Problem::bad_request(format!("the body is malformed: {error}")))
}
