//! One request to a provider and what came of it.

use crate::error_class::ErrorClass;
use crate::json::parse_lenient_json;
use recado_pipeline::ports::SendOutcome;
use reqwest::header::RETRY_AFTER;
use reqwest::{RequestBuilder, Url};
use serde_json::Value;
use std::time::Duration;

/// The most that is read of an answer. A list of stored messages with media inside can be this large.
const RESPONSE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The most that is kept of an answer that is no JSON.
const PLAIN_TEXT_BYTES_MAX: usize = 4096;

/// What came of a request.
#[derive(Debug)]
pub(crate) enum HttpExchange {
    /// An answer.
    Response(HttpResponse),
    /// The request never left: no connection, no such host, not a URL.
    NotSent(&'static str),
    /// The request left (or may have), and no whole answer came.
    ResponseLost {
        /// What happened.
        why: &'static str,
        /// Whether it was a time-out.
        timed_out: bool,
    },
}

impl HttpExchange {
    /// The answer, or what it means for a send that there is none.
    pub(crate) fn into_response(self) -> Result<HttpResponse, SendOutcome> {
        let (class, why) = match self {
            Self::Response(answer) => return Ok(answer),
            Self::NotSent(why) => (ErrorClass::Unreached, why),
            Self::ResponseLost { why, timed_out } => (ErrorClass::Unknown { timed_out }, why),
        };
        Err(class.into_send_outcome(why.to_owned(), None, 1))
    }
}

/// A provider's answer.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    /// HTTP status.
    pub(crate) status: u16,
    /// The body; what is no JSON as a string, shortened: gateways say in plain text what they refuse. `null` if empty.
    pub(crate) body: Value,
    /// How long it asks to wait (`Retry-After` in seconds).
    pub(crate) retry_after: Option<Duration>,
}

impl HttpResponse {
    /// Whether it is a 2xx.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// `base` with path segments after its own path, each percent-encoded. `None` if `base` is not an HTTP URL.
pub(crate) fn build_url(base: &str, segments: &[&str]) -> Option<Url> {
    let mut url = Url::parse(base.trim())
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.path_segments_mut().ok()?.pop_if_empty().extend(segments);
    Some(url)
}

/// Sends `request` and reads the answer, all within `timeout`.
pub(crate) async fn send_request(request: RequestBuilder, timeout: Duration) -> HttpExchange {
    let mut response = match request.timeout(timeout).send().await {
        Ok(response) => response,
        Err(error) => return classify_failure(&error),
    };
    let status = response.status().as_u16();
    let seconds = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if bytes.len() + chunk.len() <= RESPONSE_BYTES_MAX => {
                bytes.extend_from_slice(&chunk);
            }
            Ok(Some(_)) => {
                return HttpExchange::ResponseLost {
                    why: "answer too large",
                    timed_out: false,
                };
            }
            Ok(None) => break,
            Err(error) => return classify_failure(&error),
        }
    }
    HttpExchange::Response(HttpResponse {
        status,
        body: parse_response_body(&bytes),
        retry_after: seconds.map(Duration::from_secs),
    })
}

fn parse_response_body(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    let text = || String::from_utf8_lossy(&bytes[..bytes.len().min(PLAIN_TEXT_BYTES_MAX)]).into_owned();
    parse_lenient_json(bytes).unwrap_or_else(|_| Value::String(text()))
}

/// The error itself is not kept: it holds the URL, and Evolution's contains the instance.
fn classify_failure(error: &reqwest::Error) -> HttpExchange {
    if error.is_builder() {
        HttpExchange::NotSent("the request could not be built")
    } else if error.is_connect() {
        HttpExchange::NotSent("no connection to the provider")
    } else if error.is_timeout() {
        HttpExchange::ResponseLost {
            why: "time-out",
            timed_out: true,
        }
    } else {
        HttpExchange::ResponseLost {
            why: "connection broken",
            timed_out: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_kept_as_text_and_not_at_any_length() {
        assert_eq!(parse_response_body(b""), Value::Null);
        assert_eq!(parse_response_body(br#"{"a":1}"#)["a"], 1);
        assert_eq!(parse_response_body(br#"{"said":"\ud83d","id":"A"}"#)["id"], "A");
        assert_eq!(
            parse_response_body(b"rate limit \xff"),
            Value::String("rate limit \u{fffd}".to_owned())
        );
        let page = parse_response_body("<p>".repeat(1_000_000).as_bytes());
        assert_eq!(page.as_str().map(str::len), Some(PLAIN_TEXT_BYTES_MAX));
    }

    #[test]
    fn an_instance_name_cannot_leave_its_path_segment() {
        let url = build_url(
            "https://evolution.example.org/api/",
            &["message", "sendText", "a/b ?x=1#y"],
        )
        .unwrap();
        assert_eq!(
            url.as_str(),
            "https://evolution.example.org/api/message/sendText/a%2Fb%20%3Fx=1%23y"
        );
        assert!(build_url("ftp://evolution.example.org", &["x"]).is_none());
        assert!(build_url("not a url", &["x"]).is_none());
    }
}
