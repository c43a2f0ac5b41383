//! Failed attempts to get an answer. The response's body is never kept, because it may repeat the contact's message.

use recado_http_client::RequestFailure;
use reqwest::header::HeaderMap;
use serde::Deserialize;
use std::fmt;
use std::time::Duration;

/// Longest wait that is read from `retry-after`. A longer wait is cut to this value: no caller waits that long.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);

/// The consequence of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retryability {
    /// The failure may pass, so the request may be repeated.
    MayPass,
    /// The key was refused.
    Credentials,
    /// The failure will not pass, so the request is not repeated.
    Refused,
}

/// The cause of a failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FailureCause {
    /// The API refused the request, with this status and the `error.type` of its answer.
    Status(u16, Option<String>),
    /// The connection could not be made, or it broke, for this reason.
    Connection(RequestFailure),
    /// The API did not answer within this time.
    TimedOut(Duration),
    /// The answer could not be read.
    Malformed,
    /// The answer contained no text.
    Empty,
    /// The model declined to answer (`stop_reason` `refusal`).
    Declined,
    /// The request could not be built or sent.
    Unsendable,
}

/// A failed attempt and its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelFailure {
    pub(super) why: FailureCause,
    /// Time that the API asks to wait before the next attempt.
    pub(super) retry_after: Option<Duration>,
    /// Anthropic's id of the request, for their support.
    pub(super) request_id: Option<String>,
}

impl ModelFailure {
    /// Converts an error of `genai`, and keeps nothing of the response's body but the error type.
    pub(super) fn from_genai_error(error: &genai::Error) -> Self {
        use genai::webc::Error as Web;
        let cause = match error {
            genai::Error::WebModelCall { webc_error, .. }
            | genai::Error::WebAdapterCall { webc_error, .. } => webc_error,
            // This error means that an answer could not be read. All the errors below occur before the request is sent.
            genai::Error::ChatResponseGeneration { .. } => return Self::from_cause(FailureCause::Malformed),
            _ => return Self::from_cause(FailureCause::Unsendable),
        };
        match cause {
            Web::ResponseFailedStatus {
                status,
                body,
                headers,
            } => Self {
                why: FailureCause::Status(status.as_u16(), parse_error_type(body)),
                retry_after: parse_retry_after(headers),
                request_id: parse_request_id(headers),
            },
            Web::Reqwest(error) if error.is_builder() => Self::from_cause(FailureCause::Unsendable),
            Web::Reqwest(error) => {
                Self::from_cause(FailureCause::Connection(RequestFailure::from_error(error)))
            }
            _ => Self::from_cause(FailureCause::Malformed),
        }
    }

    /// Creates the failure of an attempt that got no answer within `after`.
    pub(super) fn from_timeout(after: Duration) -> Self {
        Self::from_cause(FailureCause::TimedOut(after))
    }

    /// Creates the failure of an answer without text.
    pub(super) fn empty_answer() -> Self {
        Self::from_cause(FailureCause::Empty)
    }

    /// Creates the failure of an answer that the model declined.
    pub(super) fn declined_answer() -> Self {
        Self::from_cause(FailureCause::Declined)
    }

    fn from_cause(why: FailureCause) -> Self {
        Self {
            why,
            retry_after: None,
            request_id: None,
        }
    }

    /// Decides if a repetition can help. 529 is Anthropic's `overloaded_error`; 408 and 409 pass by themselves.
    /// <https://docs.claude.com/en/api/errors>
    pub(super) fn retryability(&self) -> Retryability {
        match self.why {
            FailureCause::Status(401 | 403, _) => Retryability::Credentials,
            FailureCause::Status(408 | 409 | 429 | 500.., _)
            | FailureCause::Connection(_)
            | FailureCause::TimedOut(_)
            | FailureCause::Malformed
            | FailureCause::Empty => Retryability::MayPass,
            FailureCause::Status(..) | FailureCause::Declined | FailureCause::Unsendable => {
                Retryability::Refused
            }
        }
    }
}

impl ModelFailure {
    /// Returns `true` if the API may have refused the request because of a file in it. It refuses a file that it cannot
    /// open with the status 400, and a request that is too large with 413.
    pub(super) fn may_be_for_files(&self) -> bool {
        matches!(self.why, FailureCause::Status(400 | 413, _))
    }
}

impl ModelFailure {
    /// Returns `true` if the model took the request, and said nothing.
    pub(super) fn has_said_nothing(&self) -> bool {
        matches!(self.why, FailureCause::Empty | FailureCause::Declined)
    }
}

impl fmt::Display for ModelFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            FailureCause::Status(status, Some(kind)) => write!(f, "status {status} {kind}")?,
            FailureCause::Status(status, None) => write!(f, "status {status}")?,
            FailureCause::Connection(why) => write!(f, "{why}")?,
            FailureCause::TimedOut(after) => write!(f, "no answer within {} ms", after.as_millis())?,
            FailureCause::Malformed => f.write_str("an answer that could not be read")?,
            FailureCause::Empty => f.write_str("an answer without text")?,
            FailureCause::Declined => f.write_str("the model declined to answer")?,
            FailureCause::Unsendable => f.write_str("the request could not be made")?,
        }
        if let Some(after) = self.retry_after {
            write!(f, ", retry after {} s", after.as_secs_f32())?;
        }
        self.request_id
            .as_deref()
            .map_or(Ok(()), |id| write!(f, ", request {id}"))
    }
}

/// Reads the `error.type` of an answer's body; `None` if it is missing or does not look like an error type.
fn parse_error_type(body: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct AnthropicErrorBody {
        error: AnthropicErrorDetail,
    }
    #[derive(Deserialize)]
    struct AnthropicErrorDetail {
        r#type: String,
    }
    let kind = serde_json::from_str::<AnthropicErrorBody>(body)
        .ok()?
        .error
        .r#type;
    is_short_token(&kind, |c| c.is_ascii_lowercase() || c == '_').then_some(kind)
}

fn parse_request_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("request-id")?.to_str().ok()?;
    is_short_token(id, |c| c.is_ascii_alphanumeric() || c == '_' || c == '-').then(|| id.to_owned())
}

/// Returns `true` if `text` is safe to log: it has 1 to 80 bytes and only `allowed` characters.
fn is_short_token(text: &str, allowed: impl Fn(char) -> bool) -> bool {
    (1..=80).contains(&text.len()) && text.chars().all(allowed)
}

/// Reads `retry-after` in seconds. Its other form, a date, is not used by Anthropic and not read.
fn parse_retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    let wait = Duration::try_from_secs_f64(seconds).ok()?;
    Some(wait.min(RETRY_AFTER_MAX))
}
