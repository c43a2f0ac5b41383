//! Errors as `application/problem+json` (RFC 9457).

use crate::problem_code::ProblemCode;
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use recado_pipeline::ports::PortError;
use serde_json::json;

/// The media type of every error.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// The number of seconds after which a client may try again when a store or queue did not answer.
const RETRY_AFTER_SECONDS: &str = "5";

/// An error as a client sees it. `type` is `about:blank`: the status names the kind of error, `detail` describes it, and `code` tells
/// some kinds apart.
#[derive(Debug)]
pub struct HttpProblem {
    status: StatusCode,
    detail: String,
    code: Option<ProblemCode>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl HttpProblem {
    /// Creates a problem with this status. The client reads `detail`, so it must hold no data of anybody else.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            code: None,
            header: None,
        }
    }

    /// Returns the HTTP status of the answer.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Creates a 400: the request itself is wrong.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Creates a 404: what the request names does not exist.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// Creates a 404 for a path below which providers' routes are.
    pub fn no_such_provider() -> Self {
        Self::not_found("there is no such provider")
    }

    /// Creates a 503 with `Retry-After`.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail).with_retry()
    }

    /// Creates a 429 with `Retry-After`.
    pub fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail).with_retry()
    }

    fn with_retry(self) -> Self {
        self.with_header(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS))
    }

    /// Creates a 413. `max` is the largest body, in bytes.
    pub fn body_too_large(max: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {max} bytes"),
        )
        .with_code(Some(ProblemCode::TooLarge))
    }

    /// Names the kind of the error, if it has a name.
    #[must_use]
    pub fn with_code(mut self, code: Option<ProblemCode>) -> Self {
        self.code = code;
        self
    }

    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// Logs the failure of a store or queue and maps it to a problem. 503: the failure may pass. 413: a record is too
    /// large. All other failures are a 500.
    pub fn from_port_error(error: &PortError) -> Self {
        log_port_error(error);
        if error.is_retryable() {
            return Self::unavailable("a store or queue is unavailable; try again");
        }
        if let PortError::TooLarge { .. } = error {
            return Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string());
        }
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "a record could not be read or written",
        )
    }
}

/// Logs the failure of a store or queue. The cause of a [`PortError::Invalid`] may quote a record and is left out.
pub fn log_port_error(error: &PortError) {
    match error {
        PortError::Unavailable { what, source } => {
            tracing::error!(what, error = %source, "a store or queue is unavailable");
        }
        PortError::Invalid { what, .. } => {
            tracing::error!(what, "a store or queue holds or was given something unreadable");
        }
        PortError::TooLarge { .. } => tracing::warn!(%error, "a record is too large"),
    }
}

impl From<PortError> for HttpProblem {
    fn from(error: PortError) -> Self {
        Self::from_port_error(&error)
    }
}

impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response {
        let mut body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        if let Some(code) = self.code {
            body["code"] = json!(code);
        }
        let kind = [(header::CONTENT_TYPE, CONTENT_TYPE)];
        let mut response = (self.status, kind, body.to_string()).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// Answers a path that has no route with a 404.
pub async fn no_such_route(uri: Uri) -> HttpProblem {
    if uri.path().starts_with("/webhooks/") || uri.path().starts_with("/api/webhook/") {
        return HttpProblem::no_such_provider();
    }
    HttpProblem::not_found("there is no such route")
}

/// Answers a known path with a method that it does not have with a 405. axum adds `Allow`.
pub async fn method_not_allowed() -> HttpProblem {
    HttpProblem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this route does not have that method",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_worth_another_try() {
        for (error, status, again) in [
            (PortError::unavailable("a read", "down"), 503, true),
            (PortError::invalid("a record", "no JSON"), 500, false),
            (
                PortError::check_record_size("a record", usize::MAX).unwrap_err(),
                413,
                false,
            ),
        ] {
            let response = HttpProblem::from_port_error(&error).into_response();
            assert_eq!(response.status(), status, "{error}");
            assert_eq!(
                response.headers().contains_key(header::RETRY_AFTER),
                again,
                "{error}"
            );
        }
    }
}
