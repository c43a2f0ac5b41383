//! Authenticates recorded webhooks as a provider would: recordings contain no proofs, so these are made again.

use recado_domain::config::Instance;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The secrets with which webhooks are authenticated.
#[derive(Debug, Clone)]
pub struct WebhookCredentials {
    /// Webhook secrets by provider and the provider's name of the instance.
    secrets: BTreeMap<(Provider, String), Secret>,
    lookup_secret: fn(&str) -> Option<Secret>,
    replacement_name: Option<String>,
}

impl WebhookCredentials {
    /// Creates credentials without secrets of instances; `lookup_secret` returns a secret of this machine by the name of
    /// its setting.
    pub fn new(lookup_secret: fn(&str) -> Option<Secret>) -> Self {
        Self {
            secrets: BTreeMap::new(),
            lookup_secret,
            replacement_name: None,
        }
    }

    /// Adds the secret that proves an instance's webhooks: its webhook secret, or that of its own app.
    pub fn add_instance_secret(&mut self, instance: &Instance, secret: Secret) {
        if let Some(external) = instance.resolve_external_id() {
            self.secrets
                .insert((instance.provider, external.to_string()), secret);
        }
    }

    /// Replaces the instance name in all later bodies by `instance`'s, where a body contains the instance's name.
    pub fn readdress_to(&mut self, instance: &Instance) {
        self.replacement_name = instance
            .resolve_external_id()
            .map(|external| external.to_string());
    }

    /// Returns the instance name that replaces the one in a body, if any.
    pub(crate) fn replacement_name(&self) -> Option<&str> {
        self.replacement_name.as_deref()
    }

    /// Returns a secret of this machine by the name of its setting.
    pub(crate) fn lookup_setting(&self, setting: &str) -> Option<Secret> {
        (self.lookup_secret)(setting)
    }

    /// Returns the secret that proves webhooks of the instance that `provider` calls `instance`, if it has its own.
    pub(crate) fn find_instance_secret(&self, provider: Provider, instance: &str) -> Option<&Secret> {
        self.secrets.get(&(provider, instance.to_owned()))
    }

    /// Builds a request with the secret of an instance in a header; `instance` is the provider's name of the instance.
    /// Fails with [`AuthenticateError::UnknownInstance`] if the secret is not known.
    pub(crate) fn authenticate_with_header(
        &self,
        provider: Provider,
        instance: &str,
        header: &'static str,
        body: &Value,
    ) -> Result<AuthenticatedWebhook, AuthenticateError> {
        let secret = self.find_instance_secret(provider, instance);
        let secret = secret.ok_or_else(|| AuthenticateError::UnknownInstance(instance.to_owned()))?;
        Ok(AuthenticatedWebhook {
            path: format!("/webhooks/{provider}"),
            headers: vec![(header, secret.expose_secret().to_owned())],
            body: body.to_string().into_bytes(),
        })
    }
}

/// A webhook that is ready to be posted.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthenticatedWebhook {
    /// Path of the request, after the installation's base URL.
    pub path: String,
    /// Headers that prove that the webhook is authentic.
    pub headers: Vec<(&'static str, String)>,
    /// JSON body.
    pub body: Vec<u8>,
}

impl AuthenticatedWebhook {
    /// Builds the request that posts the webhook to the installation at `base`.
    pub fn build_request(&self, http: &Client, base: &str) -> RequestBuilder {
        let request = http
            .post(format!("{base}{}", self.path))
            .header(CONTENT_TYPE, "application/json")
            .body(self.body.clone());
        self.headers
            .iter()
            .fold(request, |request, (name, proof)| request.header(*name, proof))
    }
}

impl fmt::Debug for AuthenticatedWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signed")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The reason why a webhook could not be authenticated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticateError {
    /// The body does not name its instance.
    #[error("{0}")]
    NoInstanceName(&'static str),
    /// The secret of this instance is not known.
    #[error("the installation has no instance {0}: give --as, or configure it there")]
    UnknownInstance(String),
    /// A setting of this machine is missing.
    #[error("{0}")]
    Missing(&'static str),
    /// The provider posts no webhooks.
    #[error("{0}")]
    NotPosted(&'static str),
}
