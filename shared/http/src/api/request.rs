//! The parts of a request that handlers take, and the answer of most of them.

use crate::api::context::{Api, BODY_MAX};
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
