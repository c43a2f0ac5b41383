use super::InstanceWebhook;
use crate::admin_request::AdminRequestError;
use recado_domain::secret::Secret;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;
use std::time::Duration;

/// What an instance is to be connected with.
#[derive(Debug, Clone, Copy)]
pub struct ConnectParameters<'a> {
    /// How the installation wants it.
    pub webhook: &'a InstanceWebhook,
    /// The provider's key, or why there is none here.
    pub key: Result<&'a Secret, &'a str>,
    /// How else.
    pub options: ConnectOptions,
}

/// What can be chosen. A provider that has no such thing takes no notice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Checks how it is set, and sets nothing.
    pub check: bool,
    /// Files come along in the webhook (base64).
    pub base64: bool,
    /// Webhooks carry a signed token (a JWT), and the secret itself does not travel.
    pub token: bool,
}

impl<'a> ConnectParameters<'a> {
    pub(crate) fn require_key(&self) -> Result<&'a Secret, ConnectError> {
        self.key.map_err(|why| ConnectError::NoKey(why.to_owned()))
    }
}

/// Why an instance is not connected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The provider has no webhooks, and what there is instead.
    #[error("{0}")]
    NoWebhook(&'static str),
    /// The provider's key is not known here.
    #[error("{0}")]
    NoKey(String),
    /// Something must be set first.
    #[error("{0}")]
    Missing(&'static str),
    /// The provider could not be asked.
    #[error("{what}: {why}")]
    Provider {
        /// What did not succeed.
        what: String,
        /// What it said.
        why: AdminRequestError,
    },
    /// The provider has it otherwise.
    #[error("the webhook is not as it should be: {}", .0.join("; "))]
    Differs(Vec<String>),
    /// Nobody answers at the webhook's URL.
    #[error("the webhook's URL cannot be reached from here: {0}")]
    Unreachable(&'static str),
    /// Whoever answers there does not answer as Recado does.
    #[error("something else than Recado answers at the webhook's URL")]
    NotRecado,
    /// The proof is not known there.
    #[error("a webhook with this secret is refused: is that URL this installation's?")]
    Unauthorized,
    /// Any other answer.
    #[error("a webhook is answered HTTP {status}: {said}")]
    UnexpectedStatus {
        /// HTTP status.
        status: u16,
        /// What was said.
        said: String,
    },
    /// More than one thing.
    #[error("{}", .0.join("; "))]
    MultipleErrors(Vec<String>),
}

impl ConnectError {
    /// What did not succeed, for a provider's refusal.
    pub(crate) fn from_provider_error(what: impl Into<String>) -> impl FnOnce(AdminRequestError) -> Self {
        let what = what.into();
        |why| Self::Provider { what, why }
    }
}

/// Posts to our own webhook, as a provider would: the body of its 200.
pub(crate) async fn post_own_webhook(
    request: RequestBuilder,
    timeout: Duration,
) -> Result<Value, ConnectError> {
    let answer = request.timeout(timeout).send().await;
    // The error itself would tell the URL, which may hold the secret.
    let answer = answer.map_err(|error| {
        ConnectError::Unreachable(match error {
            error if error.is_timeout() => "time-out",
            error if error.is_connect() => "no connection",
            _ => "no answer",
        })
    })?;
    let status = answer.status();
    let body: Value = answer.json().await.unwrap_or_default();
    match status {
        StatusCode::OK => Ok(body),
        StatusCode::UNAUTHORIZED => Err(ConnectError::Unauthorized),
        status => Err(ConnectError::UnexpectedStatus {
            status: status.as_u16(),
            said: body["detail"].as_str().unwrap_or("-").to_owned(),
        }),
    }
}
