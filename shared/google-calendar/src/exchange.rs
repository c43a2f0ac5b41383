//! Sends one request and reads its answer.

use crate::error::CalendarError;
use reqwest::header::RETRY_AFTER;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;
use std::time::Duration;

/// Limit on the bytes of an answer: a page of 250 events with long descriptions.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Longest wait that is read from `Retry-After`.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);

/// A complete answer.
pub(crate) struct CalendarAnswer {
    pub(crate) status: StatusCode,
    /// The body as JSON; `null` if it is empty or something else.
    pub(crate) body: Value,
    pub(crate) after: Option<Duration>,
}

/// The reason why there is no complete answer.
pub(crate) enum NoAnswer {
    /// The request never left.
    NotSent(&'static str),
    /// The request left, or may have.
    Lost(&'static str),
}

impl NoAnswer {
    /// Returns the error of a request that changes nothing.
    pub(crate) fn of_question(self) -> CalendarError {
        let (Self::NotSent(why) | Self::Lost(why)) = self;
        CalendarError::unavailable(why)
    }

    /// Returns the error of a request that acts.
    pub(crate) fn of_action(self) -> CalendarError {
        match self {
            Self::NotSent(why) => CalendarError::unavailable(why),
            Self::Lost(why) => CalendarError::Unknown(why.to_owned()),
        }
    }
}

/// Sends `request` and reads the answer, both within `timeout`.
pub(crate) async fn exchange_request(
    request: RequestBuilder,
    timeout: Duration,
) -> Result<CalendarAnswer, NoAnswer> {
    let response = request.timeout(timeout).send().await;
    let mut response = response.map_err(|error| classify_failure(&error))?;
    let after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| classify_failure(&error))? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(NoAnswer::Lost("the answer is too large"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(CalendarAnswer {
        status: response.status(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        after: after.map(|seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX)),
    })
}

/// Classifies a failed request. The error itself is not kept: it contains the URL, which names the calendar.
fn classify_failure(error: &reqwest::Error) -> NoAnswer {
    if error.is_builder() {
        NoAnswer::NotSent("the request could not be built")
    } else if error.is_connect() {
        NoAnswer::NotSent("no connection to Google")
    } else if error.is_timeout() {
        NoAnswer::Lost("no answer came in time")
    } else {
        NoAnswer::Lost("the connection broke")
    }
}
