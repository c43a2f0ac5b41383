//! How 360dialog refuses.

use super::super::behaviour::Behaviour;
use super::super::meta::message::error as metas;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A refusal of its own layer, in a form that it is documented or known to have. What Meta refuses, it passes on: that is
/// [`Dialog360Error::Meta`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialog360Error {
    /// Too many requests, which it says with 400, in its own form.
    RateLimit,
    /// The same in Meta's form, with the status where Meta has its code.
    RateLimitAsMeta,
    /// The same in plain text.
    RateLimitAsText,
    /// The number's account was not paid for.
    LackOfPayment,
    /// The number's API was shut.
    Disabled,
    /// The key is wrong.
    InvalidKey,
    /// This may not be called, or not now.
    Blocked,
    /// It failed, and says so on a page.
    Failed,
    /// Meta's API could not be reached, says a gateway's page.
    BadGateway,
    /// Meta refused, with this status and code.
    Meta(u16, u32),
}

impl Dialog360Error {
    /// All of its own.
    pub const OWN: [Self; 9] = [
        Self::RateLimit,
        Self::RateLimitAsMeta,
        Self::RateLimitAsText,
        Self::LackOfPayment,
        Self::Disabled,
        Self::InvalidKey,
        Self::Blocked,
        Self::Failed,
        Self::BadGateway,
    ];

    /// Answers the next request so.
    pub fn behaviour(self) -> Behaviour {
        match self {
            Self::RateLimitAsText | Self::Failed | Self::BadGateway => {
                let (media_type, text) = self.page();
                Behaviour::text(self.status(), media_type, text)
            }
            _ => Behaviour::status(self.status(), self.body()),
        }
    }

    /// The same, asking to wait for so many seconds.
    pub fn with_retry_after(self, seconds: u32) -> Behaviour {
        let Behaviour::Status { code, body, headers } = self.behaviour() else {
            return self.behaviour();
        };
        let wait = BTreeMap::from([("retry-after".to_owned(), seconds.to_string())]);
        Behaviour::Status {
            code,
            body,
            headers: headers.into_iter().chain(wait).collect(),
        }
    }

    /// An answer of this server's own.
    pub(super) fn response(self) -> Response {
        let status = StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, axum::Json(self.body())).into_response()
    }

    fn status(self) -> u16 {
        match self {
            Self::RateLimit
            | Self::RateLimitAsMeta
            | Self::RateLimitAsText
            | Self::LackOfPayment
            | Self::Disabled => 400,
            Self::InvalidKey => 401,
            Self::Blocked => 403,
            Self::Failed => 500,
            Self::BadGateway => 502,
            Self::Meta(status, _) => status,
        }
    }

    fn body(self) -> Value {
        let own = |said: &str| {
            json!({"meta": {"success": false, "http_code": self.status(), "developer_message": said,
                "360dialog_trace_id": "0123456789abcdef"}})
        };
        match self {
            Self::RateLimit | Self::RateLimitAsText => own("You have exceeded the endpoint rate limit"),
            Self::RateLimitAsMeta => {
                json!({"error": {"message": "You have exceeded the endpoint rate limit", "code": 400}})
            }
            Self::LackOfPayment => own("The API has been paused due to lack of payment"),
            Self::Disabled => own("API has been disabled"),
            Self::InvalidKey => own("Invalid api_key"),
            Self::Blocked => own("This endpoint is blocked"),
            Self::Failed => own("Internal server error"),
            Self::BadGateway => own("API not available"),
            Self::Meta(_, code) => metas(code, &format!("(#{code}) Refused by Meta"), ""),
        }
    }

    /// Media type and text, where it answers with no JSON.
    fn page(self) -> (&'static str, &'static str) {
        match self {
            Self::BadGateway => (
                "text/html",
                "<html><head><title>502 Bad Gateway</title></head><body>API not available</body></html>",
            ),
            Self::Failed => (
                "text/html",
                "<html><body><h1>Server Error (500)</h1></body></html>",
            ),
            _ => ("text/plain", "You have exceeded the endpoint rate limit"),
        }
    }
}
