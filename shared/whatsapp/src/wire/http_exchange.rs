//! Sends one request to a provider and classifies the result.

use crate::wire::error_class::ErrorClass;
use crate::wire::json::parse_pruned_json;
use recado_http_client::read_retry_after;
use recado_ports::ports::SendOutcome;
use reqwest::{RequestBuilder, Url};
use serde_json::Value;
use std::time::Duration;

/// Limit on the bytes of an answer. A list of stored messages with media inside can be this large.
const RESPONSE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Limit on the bytes that are kept of an answer that is not JSON.
const PLAIN_TEXT_BYTES_MAX: usize = 4096;

/// The result of a request.
#[derive(Debug)]
pub(crate) enum HttpExchange {
    /// The provider answered.
    Response(HttpResponse),
    /// The request was never sent: no connection, unknown host, or an invalid URL. The text is the reason.
    NotSent(&'static str),
    /// The request was sent, or may have been, and no complete answer came.
    ResponseLost {
        /// Reason for the log.
        why: &'static str,
        /// `true` if the time limit was reached.
        timed_out: bool,
    },
}

impl HttpExchange {
    /// Returns the answer, or else the outcome of a send that got no answer.
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
    pub(crate) status: u16,
    /// Body as JSON. A body that is not JSON is a string, shortened, because gateways explain a refusal in plain text;
    /// `null` if the body is empty.
    pub(crate) body: Value,
    /// Wait that the provider asks for, from the header `Retry-After` in seconds.
    pub(crate) retry_after: Option<Duration>,
}

impl HttpResponse {
    /// Returns `true` for a 2xx status.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Appends percent-encoded path segments to `base`; `None` if `base` is not an HTTP URL.
pub fn build_url(base: &str, segments: &[&str]) -> Option<Url> {
    let mut url = Url::parse(base.trim())
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.path_segments_mut().ok()?.pop_if_empty().extend(segments);
    Some(url)
}

/// The reason why an answer was not read to its end.
pub(crate) const ANSWER_TOO_LARGE: &str = "answer too large";

/// A provider's answer before it is parsed.
#[derive(Debug)]
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    retry_after: Option<Duration>,
}

/// Sends `request` and reads the answer, both within `timeout`.
pub(crate) async fn send_request(request: RequestBuilder, timeout: Duration) -> HttpExchange {
    match receive_response(request, timeout, RESPONSE_BYTES_MAX).await {
        Ok(answer) => HttpExchange::Response(HttpResponse {
            status: answer.status,
            body: parse_response_body(&answer.body),
            retry_after: answer.retry_after,
        }),
        Err(failed) => failed,
    }
}

/// Sends `request` and reads an answer of at most `bytes_max`, both within `timeout`. The error is no
/// [`HttpExchange::Response`].
pub(crate) async fn receive_response(
    request: RequestBuilder,
    timeout: Duration,
    bytes_max: usize,
) -> Result<RawResponse, HttpExchange> {
    let response = request.timeout(timeout).send().await;
    let mut response = response.map_err(|error| classify_failure(&error))?;
    let seconds = read_retry_after(response.headers());
    let announced = response.content_length().unwrap_or(0);
    let mut body = Vec::with_capacity(usize::try_from(announced).unwrap_or(usize::MAX).min(bytes_max));
    while let Some(chunk) = response.chunk().await.map_err(|error| classify_failure(&error))? {
        if body.len() + chunk.len() > bytes_max {
            return Err(HttpExchange::ResponseLost {
                why: ANSWER_TOO_LARGE,
                timed_out: false,
            });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(RawResponse {
        status: response.status().as_u16(),
        body,
        retry_after: seconds.map(Duration::from_secs),
    })
}

fn parse_response_body(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    let text = || String::from_utf8_lossy(&bytes[..bytes.len().min(PLAIN_TEXT_BYTES_MAX)]).into_owned();
    parse_pruned_json(bytes).unwrap_or_else(|_| Value::String(text()))
}

/// Classifies a failed request. The error itself is not kept: it contains the URL, and Evolution's URLs name the
/// instance.
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
