//! The parts of a request that handlers take, and the answer of most of them.

use crate::api::context::{Api, BODY_MAX};
use crate::body::{parse_json_body, parse_optional_body, read_body};
use crate::problem::HttpProblem;
use axum::body::{Body, Bytes};
use axum::extract::rejection::{ExtensionRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::{Extension, Json};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use recado_domain::SignedDuration;
use recado_domain::access::Caller;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::wrong_value::describe_wrong_value;
use recado_pipeline::ports::PageRequest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::convert::Infallible;

/// The answer of most handlers: a value in JSON, or why there is none.
pub type JsonAnswer<T> = Result<Json<T>, HttpProblem>;

/// The state of the API, and the caller of the request. Each handler behind a token takes them.
#[derive(Debug)]
pub struct Asked(pub Api, pub Caller);

impl FromRequestParts<Api> for Asked {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ExtensionRejection> {
        let Extension(caller) = Extension::<Caller>::from_request_parts(parts, api).await?;
        Ok(Self(api.clone(), caller))
    }
}

/// The body of a request, of which nothing is read yet, with the request's headers.
#[derive(Debug)]
pub struct RequestBody {
    pub headers: HeaderMap,
    body: Body,
}

impl FromRequest<Api> for RequestBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &Api) -> Result<Self, Infallible> {
        let (parts, body) = request.into_parts();
        Ok(Self {
            headers: parts.headers,
            body,
        })
    }
}

impl RequestBody {
    /// Returns the type that the request names.
    pub fn content_type(&self) -> Option<&str> {
        self.headers.get(header::CONTENT_TYPE)?.to_str().ok()
    }

    /// Reads a body of at most `max` bytes.
    pub async fn read(self, max: usize) -> Result<Bytes, HttpProblem> {
        read_body(&self.headers, self.body, max).await
    }

    /// Reads a JSON body.
    pub async fn parse<T: DeserializeOwned>(self) -> Result<T, HttpProblem> {
        parse_json_body(&self.read(BODY_MAX).await?)
    }

    /// Reads a JSON body that may be left out or `null`.
    pub async fn parse_optional<T: DeserializeOwned + Default>(self) -> Result<T, HttpProblem> {
        parse_optional_body(&self.read(BODY_MAX).await?)
    }
}

/// Query parameters. Malformed ones are a 400 that says what is wrong with them.
#[derive(Debug)]
pub struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpProblem> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(error) => Err(query_problem(&error)),
        }
    }
}

/// Says what is wrong with a query. The parameter stands before what is wrong with it.
fn query_problem(error: &QueryRejection) -> HttpProblem {
    let why = error.body_text();
    let why = why
        .rsplit_once("query string: ")
        .map_or(why.as_str(), |(_, why)| why);
    let why = match why.split_once(": ") {
        Some((name, told)) => format!("{name}: {}", describe_wrong_value(told, "an object")),
        None => why.to_owned(),
    };
    HttpProblem::bad_request(format!("the query is malformed: {why}"))
}

/// A parameter in the path. A malformed one is a 400.
#[derive(Debug)]
pub struct PathParam<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParam<T> {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpProblem> {
        let found: Result<Path<T>, PathRejection> = Path::from_request_parts(parts, state).await;
        found
            .map(|Path(value)| Self(value))
            .map_err(|_| HttpProblem::bad_request("the path is malformed"))
    }
}

/// The instance to which a request is narrowed.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct InstanceQuery {
    /// Only of this instance.
    pub instance: Option<InstanceId>,
}

/// The tenant of a request.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TenantQuery {
    /// The tenant, with a token of the installation. If absent, the only one.
    pub tenant: Option<TenantId>,
}

/// The tenant and the page of a list.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TenantPageQuery {
    /// The tenant, with a token of the installation. If absent, the only one.
    pub tenant: Option<TenantId>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    pub limit: Option<usize>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// The largest limit that a list request may give, and the limit if it gives none. The limit is the number of items on
/// a page.
const LIMIT_MAX: usize = 200;
const LIMIT_DEFAULT: usize = 50;

/// The longest cursor that is passed on, in bytes as the store gave it.
const CURSOR_MAX: usize = 2000;

/// Checks the limit and the cursor of a list request.
pub fn parse_page_request(limit: Option<usize>, cursor: Option<String>) -> Result<PageRequest, HttpProblem> {
    let limit = limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(HttpProblem::bad_request(format!(
            "limit must be between 1 and {LIMIT_MAX}"
        )));
    }
    let cursor = cursor.map(|text| {
        decode_cursor(&text).ok_or_else(|| HttpProblem::bad_request("the cursor is not one that a list gave"))
    });
    Ok(PageRequest {
        limit,
        cursor: cursor.transpose()?,
    })
}

/// The longest time for which a secret stays valid beside the one that replaced it, in seconds: 30 days.
const OVERLAP_MAX: u64 = 30 * 86_400;

/// Checks the time for which the secret before stays valid. A rotation that names none gets the `usual` one.
pub fn parse_overlap(seconds: Option<u64>, usual: SignedDuration) -> Result<SignedDuration, HttpProblem> {
    match seconds {
        None => Ok(usual),
        Some(seconds @ ..=OVERLAP_MAX) => Ok(SignedDuration::from_secs(seconds.cast_signed())),
        Some(_) => Err(HttpProblem::bad_request(format!(
            "overlap_seconds must be at most {OVERLAP_MAX}"
        ))),
    }
}

/// Returns 200 if the same request was accepted before, else 202.
pub fn choose_accepted_status(is_repeated: bool) -> StatusCode {
    if is_repeated {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    }
}

/// Encodes the cursor of a store for an answer, so that it stands in a URL as it is.
pub fn encode_cursor(cursor: &str) -> String {
    URL_SAFE_NO_PAD.encode(cursor)
}

/// Decodes what [`encode_cursor`] made. `None`: nothing made it.
fn decode_cursor(text: &str) -> Option<String> {
    let cursor = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    (1..=CURSOR_MAX).contains(&cursor.len()).then_some(cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_of_any_characters_stands_in_a_url_and_comes_back() {
        for cursor in ["demo", "2026-11-27T09:30:00.120Z#c_1", "a|b\n+/?&%=", "ação"] {
            let encoded = encode_cursor(cursor);
            let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            assert!(encoded.bytes().all(is_safe), "{encoded}");
            let page = parse_page_request(None, Some(encoded)).unwrap();
            assert_eq!(page.cursor.as_deref(), Some(cursor));
        }
        let too_long = encode_cursor(&"x".repeat(CURSOR_MAX + 1));
        for wrong in ["", "x", "ZGVtbw==", "ZGVtbx", "a#b", "_w", too_long.as_str()] {
            assert!(
                parse_page_request(None, Some(wrong.to_owned())).is_err(),
                "{wrong}"
            );
        }
    }
}
