//! What a failed attempt is remembered by: never by its body, which may repeat what the contact wrote.

use reqwest::header::HeaderMap;
use serde::Deserialize;
use std::fmt;
use std::time::Duration;

/// A longer wait than this is not worth understanding: no caller waits that long.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retryability {
    /// It may pass.
    MayPass,
    /// The key was refused.
    Credentials,
    /// It will not pass.
    Refused,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FailureCause {
    /// The API refused it: with this status, and the `error.type` of its answer.
    Status(u16, Option<String>),
    /// No connection was made, or it broke.
    Connection,
    /// No answer within this time.
    TimedOut(Duration),
    /// An answer that could not be read.
    Malformed,
    /// An answer without text.
    Empty,
    /// The model declined to answer (`stop_reason` `refusal`).
    Declined,
    /// The request could not be made.
    Unsendable,
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelFailure {
    /// Why.
    pub(super) why: FailureCause,
    /// How long the API asks to wait.
    pub(super) retry_after: Option<Duration>,
    /// Anthropic's name of the request, for their support.
    pub(super) request_id: Option<String>,
}

impl ModelFailure {
    /// Reads an error of `genai` and keeps nothing else of it.
    pub(super) fn from_genai_error(error: &genai::Error) -> Self {
        use genai::webc::Error as Web;
        let cause = match error {
            genai::Error::WebModelCall { webc_error, .. }
            | genai::Error::WebAdapterCall { webc_error, .. } => webc_error,
            // Reading an answer failed; everything else happens before the request is sent.
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
            Web::Reqwest(_) => Self::from_cause(FailureCause::Connection),
            _ => Self::from_cause(FailureCause::Malformed),
        }
    }

    /// No answer came within `after`.
    pub(super) fn from_timeout(after: Duration) -> Self {
        Self::from_cause(FailureCause::TimedOut(after))
    }

    /// An answer without text.
    pub(super) fn empty_answer() -> Self {
        Self::from_cause(FailureCause::Empty)
    }

    /// The model declined.
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

    /// What to do about it. 529 is Anthropic's `overloaded_error`; 408 and 409 pass by themselves.
    /// <https://docs.claude.com/en/api/errors>
    pub(super) fn retryability(&self) -> Retryability {
        match self.why {
            FailureCause::Status(401 | 403, _) => Retryability::Credentials,
            FailureCause::Status(408 | 409 | 429 | 500.., _)
            | FailureCause::Connection
            | FailureCause::TimedOut(_)
            | FailureCause::Malformed
            | FailureCause::Empty => Retryability::MayPass,
            FailureCause::Status(..) | FailureCause::Declined | FailureCause::Unsendable => {
                Retryability::Refused
            }
        }
    }
}

impl fmt::Display for ModelFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            FailureCause::Status(status, Some(kind)) => write!(f, "status {status} {kind}")?,
            FailureCause::Status(status, None) => write!(f, "status {status}")?,
            FailureCause::Connection => f.write_str("no connection")?,
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

/// The `error.type` of an answer, if it looks like one.
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

/// Whether `text` is short and made of `allowed`, so that it may be shown wherever it came from.
fn is_short_token(text: &str, allowed: impl Fn(char) -> bool) -> bool {
    (1..=80).contains(&text.len()) && text.chars().all(allowed)
}

/// `retry-after` in seconds. Its other form, a date, is not used by Anthropic and not read.
fn parse_retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    let wait = Duration::try_from_secs_f64(seconds).ok()?;
    Some(wait.min(RETRY_AFTER_MAX))
}
