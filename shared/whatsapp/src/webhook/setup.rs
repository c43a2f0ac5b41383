//! How a provider is to be set up.

use super::WebhookKeys;
use recado_domain::config::Instance;
use recado_domain::secret::{Secret, derive_webhook_secret};
use std::fmt;

/// What a shown URL has in place of a secret.
pub(crate) const HIDDEN_SECRET: &str = "{secret}";

/// How a provider is to be set up for an instance.
#[derive(Clone)]
pub struct WebhookSetup {
    /// Where it is to post; absent if its events come by another way.
    pub url: Option<String>,
    /// The instance's webhook secret, if it has one, it may be told and there is a master.
    pub secret: Option<Secret>,
    /// The header in which the provider is to send the secret, if that is to be told to it.
    pub secret_header: Option<&'static str>,
    /// Whether what proves the instance's webhooks is configured.
    pub proof_set: bool,
    /// Whether the token of the provider's handshake is configured; absent if it has none.
    pub verify_token_set: Option<bool>,
}

impl WebhookSetup {
    /// Nothing is to be set up, and nothing is missing.
    pub(crate) const NOTHING: Self = Self {
        url: None,
        secret: None,
        secret_header: None,
        proof_set: true,
        verify_token_set: None,
    };
}

impl fmt::Debug for WebhookSetup {
    /// Without the URL, which can hold the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSetup")
            .field("secret", &self.secret)
            .field("secret_header", &self.secret_header)
            .field("proof_set", &self.proof_set)
            .field("verify_token_set", &self.verify_token_set)
            .finish_non_exhaustive()
    }
}

/// The secret of an instance under the present master.
pub(crate) fn current_webhook_secret(instance: &Instance, keys: &WebhookKeys) -> Option<Secret> {
    let master = keys.masters.first()?;
    let external = instance.resolve_external_id()?;
    Some(derive_webhook_secret(
        master,
        instance.provider,
        &external,
        instance.secret_version,
    ))
}
