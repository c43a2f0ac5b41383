//! Answers of carriers over HTTP: the parts that all of them have.

use recado_http_client::{RequestFailure, read_body_within, read_retry_after};
use recado_ports::ports::EmailError;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;
use std::time::Duration;

/// Largest answer that is read, in bytes.
const ANSWER_MAX: u64 = 256 * 1024;

/// Longest pause that a carrier is believed.
const PAUSE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// An answer of a carrier.
#[derive(Debug)]
pub(crate) struct CarrierAnswer {
    pub(crate) status: StatusCode,
    /// Pause that the carrier asks for.
    pub(crate) retry_after: Option<Duration>,
    /// Body; `Null` if it is no JSON.
    pub(crate) body: Value,
}

/// Makes a request. The outcome is unknown if it went out and no whole answer came back.
pub(crate) async fn make_request_once(
    request: RequestBuilder,
    timeout: Duration,
) -> Result<CarrierAnswer, EmailError> {
    let answer = request
        .timeout(timeout)
        .send()
        .await
        .map_err(|error| classify_failure(&error))?;
    let status = answer.status();
    let retry_after =
        read_retry_after(answer.headers()).map(|seconds| Duration::from_secs(seconds).min(PAUSE_MAX));
    let body = match read_body_within(answer, ANSWER_MAX).await {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        // The status is an answer by itself, unless the id in the body is wanted.
        Err(_) => Value::Null,
    };
    Ok(CarrierAnswer {
        status,
        retry_after,
        body,
    })
}

fn classify_failure(error: &reqwest::Error) -> EmailError {
    let why = RequestFailure::from_error(error).to_string();
    if error.is_connect() || error.is_builder() {
        EmailError::Unreachable(why)
    } else {
        EmailError::Unknown(why)
    }
}

impl CarrierAnswer {
    /// Returns a text of the body.
    pub(crate) fn read_text_field(&self, field: &str) -> Option<&str> {
        self.body.get(field)?.as_str().filter(|text| !text.is_empty())
    }

    /// Returns the error for a request that is to be made again after a pause: `usual`, unless the carrier names another.
    pub(crate) fn describe_pause(&self, why: &str, usual: Duration) -> EmailError {
        EmailError::Later {
            why: why.to_owned(),
            after: Some(self.retry_after.unwrap_or(usual)),
        }
    }

    /// Returns the error for a carrier that is asked too often.
    pub(crate) fn describe_throttling(&self, why: String) -> EmailError {
        EmailError::Throttled {
            why,
            after: self.retry_after,
        }
    }
}
