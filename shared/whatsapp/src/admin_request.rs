//! How a provider is asked when it is set up, and what it may answer.
//!
//! What a provider says is handed on here, to whoever sets it up; it is never logged.

use crate::json::get_text;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::RequestBuilder;
use reqwest::header::DATE;
use serde_json::Value;
use std::time::Duration;

/// How long one question may take. Evolution's `instance/connect` waits for its QR code.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The longest of what a provider says that is shown, in characters.
const MESSAGE_CHARS_MAX: usize = 300;

/// Why a provider could not be asked or set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdminRequestError {
    /// The base URL is no HTTP URL.
    #[error("the base URL is not an HTTP URL")]
    NotUrl,
    /// Nobody answers there.
    #[error("no answer: {why}")]
    Unreachable {
        /// What happened.
        why: &'static str,
    },
    /// The key or token is wrong, or may not do this.
    #[error("the key or token was refused (HTTP {status}): {said}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What was said.
        said: String,
    },
    /// There is no such thing there.
    #[error("it is not known there (HTTP 404): {said}")]
    NotFound {
        /// What was said.
        said: String,
    },
    /// Any other answer that is no success.
    #[error("HTTP {status}: {said}")]
    Failed {
        /// HTTP status.
        status: u16,
        /// What was said.
        said: String,
    },
}

/// A provider's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AdminResponse {
    /// The body; `null` if it is not JSON.
    pub body: Value,
    /// The provider's clock, by the header `Date`, in whole seconds.
    pub date: Option<Timestamp>,
}

/// Sends `request` and reads what is said.
pub(crate) async fn send_admin_request(request: RequestBuilder) -> Result<AdminResponse, AdminRequestError> {
    let failure = |error: &reqwest::Error| AdminRequestError::Unreachable {
        why: if error.is_timeout() {
            "time-out"
        } else if error.is_connect() {
            "no connection"
        } else {
            "the connection broke"
        },
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
    let body: Value = crate::json::parse_lenient_json(&bytes).unwrap_or(Value::Null);
    let said = || match body {
        // A page is for browsers, a line may be for us.
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

/// The message of an error body, as far as it is shown: Evolution's `response.message`, Meta's `error.message`, or the
/// whole.
fn extract_error_message(body: &Value) -> String {
    let message = get_text(&body["error"], "message").map(str::to_owned);
    let message = message.unwrap_or_else(|| match &body["response"]["message"] {
        Value::Null => body.to_string(),
        Value::String(said) => said.clone(),
        said => said.to_string(),
    });
    message.chars().take(MESSAGE_CHARS_MAX).collect()
}

/// A text that is no page, as far as it is shown.
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
        let http = recado_ai::http_client().unwrap();
        for (does, expected) in told {
            let server = StandIn::start(vec![does]).await;
            let error = send_admin_request(http.get(&server.url)).await.unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let error = send_admin_request(http.get("http://127.0.0.1:1"))
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "no answer: no connection");
    }
}
