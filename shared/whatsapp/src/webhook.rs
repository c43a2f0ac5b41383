//! A provider's webhook, as its handler describes it: its paths, its proofs, its content, and how to set it up at the
//! provider. No I/O: an HTTP server routes the paths of each handler, reads the body and fetches the [`WebhookKeys`].
//!
//! The code for each provider is in its `webhook` module, as a [`WebhookHandler`].

mod keys;
mod setup;
#[cfg(test)]
mod tests;

pub use keys::{NamedKey, RequiredKeys, WebhookKeys};
pub use setup::WebhookSetup;

pub(crate) use setup::{HIDDEN_SECRET, current_webhook_secret};

use crate::wire::json::WebhookParseError;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::ids::ExternalId;
use recado_domain::inbound::WebhookItem;
use recado_domain::secret::SecretParts;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// Answers a handshake with the raw query and the keys. The text is the whole body of the answer.
pub type AnswerHandshake = fn(&str, &WebhookKeys) -> Result<String, WebhookRefusal>;

/// A provider's implementation of its webhooks.
pub trait WebhookHandler: Sync {
    /// Returns all its paths in axum's form, the usual one first. Each of them takes `POST`.
    fn paths(&self) -> &'static [&'static str];

    /// Returns the function that answers a handshake, which is a `GET` of any path; `None` if there is no handshake.
    fn handshake(&self) -> Option<AnswerHandshake> {
        None
    }

    /// Returns the keys that prove its webhooks.
    fn required_keys(&self) -> RequiredKeys;

    /// Returns the provider's time limit for an answer, if it is shorter than most providers'. A webhook that is not
    /// stored by then is refused, so that the provider repeats it.
    fn response_timeout(&self) -> Option<Duration> {
        None
    }

    /// Returns the numbers of a request that may have apps of their own. The secrets of these are then needed for its proof
    /// ([`WebhookKeys::with_apps`]). They are 16 at most until one of `keys` proves the request.
    fn list_numbers_with_apps(&self, _: &WebhookRequest<'_>, _: &WebhookKeys) -> BTreeSet<ExternalId> {
        BTreeSet::new()
    }

    /// Returns `true` if a request names no number and shows a proof that may tell which one it is about. The configured
    /// numbers are then needed ([`WebhookKeys::with_configured_numbers`]).
    fn needs_configured_numbers(&self, _: &WebhookRequest<'_>) -> bool {
        false
    }

    /// Returns the instance whose salt is needed, since the proof of a request does not show it ([`WebhookKeys::with_salt`]).
    fn find_hidden_salt_owner(&self, _: &WebhookRequest<'_>, _: Timestamp) -> Option<ExternalId> {
        None
    }

    /// Checks that a request is authentic, then reads its items, in order. The secrets of all versions and salts are authentic here. They must be stored before the webhook is
    /// acknowledged. `now` is the time of events and statuses without a time.
    fn authenticate_and_parse(
        &self,
        request: &WebhookRequest<'_>,
        keys: &WebhookKeys,
        now: Timestamp,
    ) -> Result<ProvenWebhook, WebhookRefusal>;

    /// Describes the webhook setup of an instance. `base` is the installation's public URL, without a slash at its end.
    fn describe_webhook_setup(
        &self,
        instance: &Instance,
        keys: &WebhookKeys,
        base: &str,
        with_secret: bool,
    ) -> WebhookSetup;

    /// Writes the webhook that the provider would post for a message to its instance `external`.
    fn write_simulated_webhook(&self, external: &ExternalId, message: &SimulatedInbound<'_>) -> Value;
}

/// A message of a contact that is only simulated.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedInbound<'a> {
    /// The contact's number, in digits.
    pub phone: &'a str,
    /// The name that the contact gives itself.
    pub name: &'a str,
    /// The text of the message.
    pub text: &'a str,
    /// The provider's id of the message.
    pub id: &'a str,
    /// Time at which the message was written.
    pub at: Timestamp,
}

/// A webhook that is authentic.
#[derive(Debug)]
pub struct ProvenWebhook {
    /// Items of the webhook, in order.
    pub items: Vec<WebhookItem>,
    /// The instance's secrets that proved it. The configuration says which of them counts. `None`: it was proven by
    /// another key.
    pub secret: Option<ProvenSecret>,
}

/// The secrets of an instance that a webhook showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenSecret {
    /// Provider's name of the instance.
    pub instance: ExternalId,
    /// What the secrets are made of; at least one.
    pub proven: Vec<SecretParts>,
}

/// A request to a provider's webhook. No part of it is trusted.
#[derive(Clone, Copy)]
pub struct WebhookRequest<'a> {
    /// Parameters of the path by name, percent-decoded.
    pub path_params: &'a BTreeMap<String, String>,
    /// Headers of the request.
    pub headers: &'a HeaderMap,
    /// Body as the received bytes.
    pub body: &'a [u8],
}

impl fmt::Debug for WebhookRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} bytes, ***)", self.body.len())
    }
}

impl<'a> WebhookRequest<'a> {
    /// Returns a parameter of the path; `None` if the path has none of that name.
    pub(crate) fn path_param(&self, name: &str) -> Option<&'a str> {
        self.path_params.get(name).map(String::as_str)
    }

    /// Returns a header; `None` if it is missing or not text.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The reason why a request was refused. No text repeats anything of the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookRefusal {
    /// The body is not JSON, or not of this provider's form: 400.
    #[error("the body is not JSON, or not a webhook of this provider")]
    NotEnvelope,
    /// The request is wrong in another way, which the caller is told: 400.
    #[error("{0}")]
    BadRequest(&'static str),
    /// The key for the proof is not configured: 503. The text names the missing key for the log, not for the caller.
    #[error("{0} is not configured")]
    NotConfigured(&'static str),
    /// The proof is missing or wrong: 401. It is for the log.
    #[error("{what}")]
    Unauthorized {
        /// Description of the refusal.
        what: &'static str,
        /// Provider's name of the instance that the request names without a proof.
        instance: Option<ExternalId>,
    },
}

impl From<WebhookParseError> for WebhookRefusal {
    fn from(error: WebhookParseError) -> Self {
        match error {
            WebhookParseError::TooManyValues => Self::BadRequest("the body holds too many values"),
            WebhookParseError::TooDeep => Self::BadRequest("the body is nested too deeply"),
            WebhookParseError::NotJson | WebhookParseError::NotEnvelope { .. } => Self::NotEnvelope,
        }
    }
}

/// Restricts notices to the number's own account. The number's customer knows its secret and could write any notice.
pub(crate) fn restrict_notices(items: &mut [WebhookItem], number: &ExternalId) {
    for item in items {
        if let WebhookItem::Notice { proven_by, .. } = item {
            *proven_by = Some(number.clone());
        }
    }
}
