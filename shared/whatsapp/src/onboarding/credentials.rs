//! Playing the provider: recordings hold no proofs, so they are made anew.

use recado_domain::config::Instance;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// What proofs are made with.
#[derive(Debug, Clone)]
pub struct WebhookCredentials {
    /// By provider and its name of the instance.
    secrets: BTreeMap<(Provider, String), Secret>,
    lookup_secret: fn(&str) -> Option<Secret>,
    replacement_name: Option<String>,
}

impl WebhookCredentials {
    /// Proofs that need no instance's secret; `named` looks up a secret of this machine by its setting's name.
    pub fn new(lookup_secret: fn(&str) -> Option<Secret>) -> Self {
        Self {
            secrets: BTreeMap::new(),
            lookup_secret,
            replacement_name: None,
        }
    }

    /// Learns the webhook secret of an instance.
    pub fn add_instance_secret(&mut self, instance: &Instance, secret: Secret) {
        if let Some(external) = instance.resolve_external_id() {
            self.secrets
                .insert((instance.provider, external.to_string()), secret);
        }
    }

    /// From now on bodies say that they are for `instance`, where a body says in its own words for whom it is.
    pub fn readdress_to(&mut self, instance: &Instance) {
        self.replacement_name = instance
            .resolve_external_id()
            .map(|external| external.to_string());
    }

    /// The name that bodies get instead of theirs.
    pub(crate) fn replacement_name(&self) -> Option<&str> {
        self.replacement_name.as_deref()
    }

    /// A secret of this machine, by its setting's name.
    pub(crate) fn lookup_setting(&self, setting: &str) -> Option<Secret> {
        (self.lookup_secret)(setting)
    }

    /// A request that shows the secret of an instance, by its provider's name for it, in a header.
    pub(crate) fn authenticate_with_header(
        &self,
        provider: Provider,
        instance: &str,
        header: &'static str,
        body: &Value,
    ) -> Result<AuthenticatedWebhook, AuthenticateError> {
        let secret = self.secrets.get(&(provider, instance.to_owned()));
        let secret = secret.ok_or_else(|| AuthenticateError::UnknownInstance(instance.to_owned()))?;
        Ok(AuthenticatedWebhook {
            path: format!("/webhooks/{provider}"),
            headers: vec![(header, secret.expose_secret().to_owned())],
            body: body.to_string().into_bytes(),
        })
    }
}

/// A webhook, ready to be posted.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthenticatedWebhook {
    /// Where to, after the installation's own URL.
    pub path: String,
    /// The headers that prove it.
    pub headers: Vec<(&'static str, String)>,
    /// JSON.
    pub body: Vec<u8>,
}

impl AuthenticatedWebhook {
    /// The request that posts it to the installation at `base`.
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

/// Why a webhook cannot be proven.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticateError {
    /// The body does not say for whom it is.
    #[error("{0}")]
    NoInstanceName(&'static str),
    /// The secret of this instance is not known.
    #[error("the installation has no instance {0}: give --as, or configure it there")]
    UnknownInstance(String),
    /// A setting of this machine is missing.
    #[error("{0}")]
    Missing(&'static str),
    /// The provider posts nothing.
    #[error("{0}")]
    NotPosted(&'static str),
}
