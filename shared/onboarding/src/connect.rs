use crate::admin_request::AdminRequestError;
use crate::instance_webhook::InstanceWebhook;
use recado_domain::secret::Secret;
use recado_http_client::RequestFailure;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// The parameters with which an instance is connected.
#[derive(Debug, Clone, Copy)]
pub struct ConnectParameters<'a> {
    /// Webhook as the installation describes it.
    pub webhook: &'a InstanceWebhook,
    /// Provider's key, or the reason why it is not known here.
    pub key: Result<&'a Secret, &'a str>,
    /// Options of the connect command.
    pub options: ConnectOptions,
}

/// The options of the connect command. An option that a provider does not have is ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// `true`: only check the present setup and change nothing.
    pub check: bool,
    /// `true`: webhooks contain files as base64.
    pub base64: bool,
    /// `true`: webhooks carry a signed token (a JWT) instead of the secret itself.
    pub token: bool,
    /// `true`: set the webhook also if its URL cannot be checked from here.
    pub force: bool,
    /// `true`: the provider tells when the contact types; `false`: it does not. `None`: as it is set.
    pub typing: Option<bool>,
    /// `true`: the provider tells what other programs send; `false`: it does not. `None`: as it is set.
    pub other_senders: Option<bool>,
}

impl<'a> ConnectParameters<'a> {
    pub(crate) fn require_key(&self) -> Result<&'a Secret, ConnectError> {
        self.key.map_err(|why| ConnectError::NoKey(why.to_owned()))
    }
}

/// The reason why an instance could not be connected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The provider has no webhooks; the text says what to set up instead.
    #[error("{0}")]
    NoWebhook(&'static str),
    /// The provider's key is not known on this machine.
    #[error("{0}")]
    NoKey(String),
    /// A setting is missing; the text names it.
    #[error("{0}")]
    Missing(&'static str),
    /// A request to the provider failed.
    #[error("{what}: {why}")]
    Provider {
        /// Description of the step that failed.
        what: String,
        /// Error of the request.
        why: AdminRequestError,
    },
    /// The provider's webhook differs from the wanted one; the texts list the differences.
    #[error("the webhook is not as it should be: {}", .0.join("; "))]
    Differs(Vec<String>),
    /// The webhook's URL could not be reached.
    #[error("{url} cannot be reached from here: {why}")]
    Unreachable {
        /// URL of the webhook, without its secret.
        url: String,
        /// Reason why no answer came.
        why: RequestFailure,
    },
    /// The server at the webhook's URL does not answer as Recado does.
    #[error("something else than Recado answers at the webhook's URL")]
    NotRecado,
    /// The server at the webhook's URL does not accept the secret or token.
    #[error("another Recado answers at the webhook's URL: it refuses this installation's secret")]
    Unauthorized,
    /// The URL was checked before anything was set, and is not this installation's.
    #[error("nothing was changed at {provider}: {why} (if only this machine cannot reach it: --force)")]
    NothingChanged {
        /// Provider at which the webhook would have been set.
        provider: &'static str,
        /// Problem of the URL.
        why: Box<ConnectError>,
    },
    /// The webhook was set, a check failed afterwards, and the setting from before is back.
    #[error("{why}; what was set before at {provider} is back")]
    PutBack {
        /// Provider at which the webhook was set.
        provider: &'static str,
        /// Failure of the check.
        why: Box<ConnectError>,
    },
    /// The webhook was set, a check failed afterwards, and the setting from before could not be put back.
    #[error("{why}; what was set before at {provider} could not be put back: {failure}")]
    NotPutBack {
        /// Provider at which the webhook was set.
        provider: &'static str,
        /// Failure of the check.
        why: Box<ConnectError>,
        /// Error of the request that should have put it back.
        failure: AdminRequestError,
    },
    /// The server at the webhook's URL answered with another status.
    #[error("a webhook is answered HTTP {status}: {said}")]
    UnexpectedStatus {
        /// HTTP status.
        status: u16,
        /// Error detail in the answer, or `-`.
        said: String,
    },
    /// Several problems, one per text.
    #[error("{}", .0.join("; "))]
    MultipleErrors(Vec<String>),
}

impl ConnectError {
    /// Returns a function that turns a request's error into a [`ConnectError`]; `what` describes the failed step.
    pub(crate) fn from_provider_error(what: impl Into<String>) -> impl FnOnce(AdminRequestError) -> Self {
        let what = what.into();
        |why| Self::Provider { what, why }
    }
}

/// A webhook of this installation, as a provider would post it to prove that the URL is right.
#[derive(Debug)]
pub(crate) struct OwnWebhook<'a> {
    /// URL of the webhook.
    pub(crate) webhook: &'a InstanceWebhook,
    /// Header with the secret; `None` if the secret is in the URL.
    pub(crate) header: Option<(&'a str, &'a Secret)>,
    /// Body, which has no effect on Recado.
    pub(crate) body: Value,
    /// Longest time for an answer.
    pub(crate) timeout: Duration,
}

impl OwnWebhook<'_> {
    /// Checks that this installation answers at the webhook's URL, and returns the body of its answer.
    ///
    /// The webhook is posted without its secret first, which Recado must refuse as it refuses all such: so the secret
    /// is never shown to a server that is not Recado.
    pub(crate) async fn prove_url(&self, http: &Client) -> Result<Value, ConnectError> {
        let bare = self.webhook.url_without_secret();
        let refused = self.post(http.post(bare)).await?;
        let problem = refused.headers().get(CONTENT_TYPE);
        let is_problem = problem.is_some_and(|kind| kind == "application/problem+json");
        if refused.status() != StatusCode::UNAUTHORIZED || !is_problem {
            return Err(ConnectError::NotRecado);
        }
        self.post_with_secret(http).await
    }

    /// Posts the webhook with its secret, and returns the body of the 200 answer.
    pub(crate) async fn post_with_secret(&self, http: &Client) -> Result<Value, ConnectError> {
        let request = http.post(&self.webhook.url);
        let answer = self
            .post(match self.header {
                Some((name, secret)) => request.header(name, secret.expose_secret()),
                None => request,
            })
            .await?;
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

    async fn post(&self, request: RequestBuilder) -> Result<Response, ConnectError> {
        let sent = request.json(&self.body).timeout(self.timeout).send().await;
        // The error itself is not shown: it would contain the URL, and with it possibly the secret.
        sent.map_err(|error| ConnectError::Unreachable {
            url: self.webhook.url_without_secret().to_owned(),
            why: RequestFailure::from_error(&error),
        })
    }
}

/// Returns the step that the check of the URL makes. A failed check ends the connecting before anything is set, unless
/// `force`.
pub(crate) fn decide_on_url(
    provider: &'static str,
    checked: Result<(), ConnectError>,
    force: bool,
) -> Result<ConnectStep, ConnectError> {
    match checked {
        Ok(()) => Ok(ConnectStep::CredentialsAccepted),
        Err(why) if force => Ok(ConnectStep::UrlUnchecked { why: why.to_string() }),
        Err(why) => Err(ConnectError::NothingChanged {
            provider,
            why: Box::new(why),
        }),
    }
}

/// Adds to a failed check what became of the setting from before.
pub(crate) fn report_restored(
    provider: &'static str,
    why: ConnectError,
    restored: Result<(), AdminRequestError>,
) -> ConnectError {
    let why = Box::new(why);
    match restored {
        Ok(()) => ConnectError::PutBack { provider, why },
        Err(failure) => ConnectError::NotPutBack {
            provider,
            why,
            failure,
        },
    }
}

/// A step that was done, found, or left to a person while an instance was connected. Its text form is a sentence without
/// a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectStep {
    /// Values that a person has to enter.
    EnterManually {
        /// Place where the values are entered.
        place: &'static str,
        /// Name and value of each field. An entry without a name continues the entry before.
        entries: Vec<(&'static str, String)>,
    },
    /// The webhook was set.
    WebhookSet {
        /// Provider at which the webhook was set.
        provider: &'static str,
    },
    /// The provider's webhook is set as wanted.
    WebhookConfirmed {
        /// Names of the events that the provider sends; empty if it does not list them.
        events: Vec<String>,
    },
    /// A webhook with the secret or token reached the installation and was accepted.
    CredentialsAccepted,
    /// The URL could not be checked from here, and the webhook was set all the same.
    UrlUnchecked {
        /// Problem of the URL.
        why: String,
    },
    /// The handshake was answered correctly.
    HandshakeAnswered,
    /// The handshake was not tested, because a setting is missing here.
    HandshakeSkipped {
        /// Name of the missing setting.
        setting: &'static str,
    },
    /// These apps receive the account's webhooks.
    Subscribed {
        /// Id of the account.
        account: String,
        /// Names of the apps.
        apps: Vec<String>,
    },
    /// No app was subscribed, because the account is not known.
    NoAccount,
}

impl fmt::Display for ConnectStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EnterManually { place, entries } => {
                write!(f, "enter in {place}")?;
                entries
                    .iter()
                    .try_for_each(|(name, value)| write!(f, "\n  {name:<12}  {value}"))
            }
            Self::WebhookSet { provider } => write!(f, "webhook set at {provider}"),
            Self::WebhookConfirmed { events } if events.is_empty() => {
                f.write_str("read back as it should be")
            }
            Self::WebhookConfirmed { events } => {
                write!(f, "read back as it should be ({})", events.join(", "))
            }
            Self::UrlUnchecked { why } => write!(f, "not checked: {why}"),
            Self::CredentialsAccepted => f.write_str("a webhook with this proof is taken"),
            Self::HandshakeAnswered => f.write_str("the handshake comes back"),
            Self::HandshakeSkipped { setting } => {
                write!(f, "no handshake tried, {setting} is not set here")
            }
            Self::Subscribed { account, apps } => write!(f, "subscribed to {account}: {}", apps.join(", ")),
            Self::NoAccount => f.write_str("no app subscribed: the instance has no account_id (its WABA)"),
        }
    }
}
