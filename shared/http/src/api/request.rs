//! The parts of a request that handlers take, and the answer of most of them.

use super::context::{Api, BODY_MAX};
use crate::problem::HttpProblem;
use crate::query::{parse_json_body, parse_optional_body, read_body};
use axum::body::{Body, Bytes};
use axum::extract::rejection::ExtensionRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::{Extension, Json};
use recado_domain::access::Caller;
use serde::de::DeserializeOwned;
use std::convert::Infallible;

/// The answer of most handlers: a value in JSON, or why there is none.
pub(super) type JsonAnswer<T> = Result<Json<T>, HttpProblem>;

/// The state of the API, and the caller of the request. Each handler behind a token takes them.
pub(super) struct Asked(pub(super) Api, pub(super) Caller);

impl FromRequestParts<Api> for Asked {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ExtensionRejection> {
        let Extension(caller) = Extension::<Caller>::from_request_parts(parts, api).await?;
        Ok(Self(api.clone(), caller))
    }
}

/// The body of a request, of which nothing is read yet, with the request's headers.
pub(super) struct RequestBody {
    pub(super) headers: HeaderMap,
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
    pub(super) fn content_type(&self) -> Option<&str> {
        self.headers.get(header::CONTENT_TYPE)?.to_str().ok()
    }

    /// Reads a body of at most `max` bytes.
    pub(super) async fn read(self, max: usize) -> Result<Bytes, HttpProblem> {
        read_body(&self.headers, self.body, max).await
    }

    /// Reads a JSON body.
    pub(super) async fn parse<T: DeserializeOwned>(self) -> Result<T, HttpProblem> {
        parse_json_body(&self.read(BODY_MAX).await?)
    }

    /// Reads a JSON body that may be left out or `null`.
    pub(super) async fn parse_optional<T: DeserializeOwned + Default>(self) -> Result<T, HttpProblem> {
        parse_optional_body(&self.read(BODY_MAX).await?)
    }
}
