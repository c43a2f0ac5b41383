//! Sends requests to a provider's administration API while an instance is set up, and reads the answers.
//!
//! The provider's messages are passed on to the person who sets the instance up. They are never logged.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use recado_http_client::RequestFailure;
use recado_whatsapp::wire::json::get_text;
use reqwest::RequestBuilder;
use reqwest::header::DATE;
use serde_json::Value;
use std::time::Duration;

/// Longest time for one request. Evolution's `instance/connect` answers only when it has a QR code.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Longest provider message that is shown, in characters.
const MESSAGE_CHARS_MAX: usize = 300;

/// The reason why a request to a provider's administration API failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdminRequestError {
    /// The base URL is not an HTTP URL.
    #[error("the base URL is not an HTTP URL")]
    NotUrl,
    /// The provider could not be reached, or the connection broke before the answer was complete.
    #[error("{host} cannot be reached: {why}")]
    Unreachable {
        /// Scheme, name and port of the provider's API.
        host: String,
        /// Reason why no answer came.
        why: RequestFailure,
    },
    /// The provider refused the key or token: it is wrong, or lacks the permission.
    #[error("the key or token was refused (HTTP {status}): {said}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The provider's message, at most 300 characters.
        said: String,
    },
    /// The provider answered 404: the instance or number does not exist there.
    #[error("it is not known there (HTTP 404): {said}")]
    NotFound {
        /// The provider's message, at most 300 characters.
        said: String,
    },
    /// The provider answered with any other error status.
    #[error("HTTP {status}: {said}")]
    Failed {
        /// HTTP status.
        status: u16,
        /// The provider's message, at most 300 characters.
        said: String,
    },
}

/// A provider's successful answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AdminResponse {
    /// Body of the answer; `null` if it is not JSON.
    pub(crate) body: Value,
    /// Provider's clock from the header `Date`, in whole seconds; `None` if the header is missing or unreadable.
    pub(crate) date: Option<Timestamp>,
}

/// Sends `request` and returns the answer, or the error that its status stands for.
pub(crate) async fn send_admin_request(request: RequestBuilder) -> Result<AdminResponse, AdminRequestError> {
    let failure = |error: &reqwest::Error| AdminRequestError::Unreachable {
        host: error.url().map_or_else(
            || "the provider".to_owned(),
            |url| url.origin().ascii_serialization(),
        ),
        why: RequestFailure::from_error(error),
    };
    let answer = request.timeout(TIMEOUT).send().await;
    let answer = answer.map_err(|error| failure(&error))?;
    let status = answer.status().as_u16();
    let date = answer
        .headers()
        .get(DATE)
        .and_then(|value| value.to_str().ok())
        .and_then(|date| rfc2822::parse(date).ok())
        .map(|date| date.timestamp());
    let bytes = answer.bytes().await.map_err(|error| failure(&error))?;
    let body: Value = recado_whatsapp::wire::json::parse_lenient_json(&bytes).unwrap_or(Value::Null);
    let said = || match body {
        // An HTML page is made for browsers and is not shown; plain text may be a useful message.
        Value::Null => plain_text_message(&bytes).unwrap_or_else(|| "no JSON".to_owned()),
        _ => extract_error_message(&body),
    };
    match status {
        200..=299 => Ok(AdminResponse { body, date }),
        401 | 403 => Err(AdminRequestError::Refused { status, said: said() }),
        404 => Err(AdminRequestError::NotFound { said: said() }),
        // Graph answers 400 to a bad token (codes 190 and 102) and to a missing permission (10, 200 to 299).
        400 if matches!(body["error"]["code"].as_u64(), Some(10 | 102 | 190 | 200..=299)) => {
            Err(AdminRequestError::Refused { status, said: said() })
        }
        _ => Err(AdminRequestError::Failed { status, said: said() }),
    }
}

/// Returns the message of an error body, cut to 300 characters. It is Evolution's `response.message`, Meta's
/// `error.message`, or else the whole body.
fn extract_error_message(body: &Value) -> String {
    let message = get_text(&body["error"], "message").map(str::to_owned);
    let message = message.unwrap_or_else(|| match &body["response"]["message"] {
        Value::Null => body.to_string(),
        Value::String(said) => said.clone(),
        said => said.to_string(),
    });
    message.chars().take(MESSAGE_CHARS_MAX).collect()
}

/// Returns a plain-text body, cut to 300 characters; `None` if it is empty, not UTF-8 or an HTML page.
fn plain_text_message(bytes: &[u8]) -> Option<String> {
    let said = std::str::from_utf8(bytes).ok()?.trim();
    (!said.is_empty() && !said.starts_with('<')).then(|| said.chars().take(MESSAGE_CHARS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::{Does, StandIn};

    #[tokio::test]
    async fn what_went_wrong_is_told_apart() {
        let told = [
            (
                Does::Answers(401, r#"{"status":401,"response":{"message":"Unauthorized"}}"#),
                "the key or token was refused (HTTP 401): Unauthorized",
            ),
            (
                Does::Answers(
                    404,
                    r#"{"response":{"message":["The \"x\" instance does not exist"]}}"#,
                ),
                "it is not known there (HTTP 404): [\"The \\\"x\\\" instance does not exist\"]",
            ),
            (
                Does::Answers(
                    400,
                    r#"{"error":{"message":"Invalid OAuth access token","code":190}}"#,
                ),
                "the key or token was refused (HTTP 400): Invalid OAuth access token",
            ),
            (Does::Answers(502, "<html>"), "HTTP 502: no JSON"),
            (
                Does::Answers(400, "Your API has been disabled"),
                "HTTP 400: Your API has been disabled",
            ),
        ];
        let http = recado_http_client::build_http_client().unwrap();
        for (does, expected) in told {
            let server = StandIn::start(vec![does]).await;
            let error = send_admin_request(http.get(&server.url)).await.unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let error = send_admin_request(http.get("http://127.0.0.1:1"))
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "http://127.0.0.1:1 cannot be reached: the connection was refused: nothing listens there"
        );
    }
}
