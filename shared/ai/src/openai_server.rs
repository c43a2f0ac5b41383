//! Requests to servers with the interface of `OpenAI`. Bodies of answers are never logged: they repeat what was sent.

use recado_domain::config::CredentialRef;
use recado_http_client::{FetchError, RequestFailure, read_body_within, read_retry_after, url_origin};
use recado_ports::ports::{PortError, Secrets};
use reqwest::{RequestBuilder, Url};
use std::fmt::Display;
use std::time::Duration;

/// Longest wait that is read from `retry-after`.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);

/// The reason why a request got no answer that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerFailure {
    /// The key was refused.
    Credentials(String),
    /// The same request may succeed later.
    Unavailable {
        /// Description of the failure.
        why: String,
        /// Time that the server asks to wait.
        after: Option<Duration>,
    },
    /// The server would refuse the request again.
    Refused(String),
}

impl ServerFailure {
    /// Returns a failure that may pass.
    pub(crate) fn unavailable(why: impl Into<String>) -> Self {
        Self::Unavailable {
            why: why.into(),
            after: None,
        }
    }

    /// Describes a request without an answer, with the server: its URL may be wrong.
    fn no_answer(url: &Url, why: &dyn Display) -> Self {
        Self::unavailable(
            url_origin(url.as_str()).map_or_else(|| why.to_string(), |server| format!("{server}: {why}")),
        )
    }

    /// Decides what a refusal means. 408, 409, 425, 429 and errors of the server may pass.
    fn from_status(status: u16, after: Option<Duration>) -> Self {
        let why = format!("status {status}");
        match status {
            401 | 403 => Self::Credentials(why),
            408 | 409 | 425 | 429 | 500.. => Self::Unavailable { why, after },
            _ => Self::Refused(why),
        }
    }
}

/// Returns the URL of a part of a server's interface, such as `embeddings`. The base ends with or without `/v1`.
pub(crate) fn build_server_url(base: &str, part: &str) -> Option<Url> {
    let base = base.trim().trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let url = Url::parse(&format!("{base}/v1/{part}")).ok()?;
    let fine = matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none();
    fine.then_some(url)
}

/// Sends a request to `url` and reads the body of its answer, up to `bytes_max`. A server without a key is asked without one. A
/// key that is refused is read again the next time.
pub(crate) async fn exchange_with_server(
    url: &Url,
    request: RequestBuilder,
    secrets: &impl Secrets,
    key: &CredentialRef,
    bytes_max: u64,
) -> Result<Vec<u8>, ServerFailure> {
    let unread = |error: PortError| ServerFailure::unavailable(format!("the key could not be read: {error}"));
    let request = match secrets.resolve_secret(key).await.map_err(unread)? {
        Some(key) => request.bearer_auth(key.expose_secret()),
        None => request,
    };
    let answered = receive_body(url, request, bytes_max).await;
    if matches!(answered, Err(ServerFailure::Credentials(_))) {
        secrets.forget_secret(key).await;
    }
    answered
}

async fn receive_body(url: &Url, request: RequestBuilder, bytes_max: u64) -> Result<Vec<u8>, ServerFailure> {
    let answer = request.send().await;
    let answer =
        answer.map_err(|error| ServerFailure::no_answer(url, &RequestFailure::from_error(&error)))?;
    if !answer.status().is_success() {
        let status = answer.status().as_u16();
        let after = read_retry_after(answer.headers());
        let after = after.map(|seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX));
        return Err(ServerFailure::from_status(status, after));
    }
    let body = read_body_within(answer, bytes_max).await;
    body.map_err(|error| match error {
        FetchError::TooLarge(_) => ServerFailure::Refused("the answer is too long".to_owned()),
        why => ServerFailure::no_answer(url, &why),
    })
}
