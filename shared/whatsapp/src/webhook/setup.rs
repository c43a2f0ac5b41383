//! The description of a webhook's setup at a provider.

use super::WebhookKeys;
use recado_domain::config::Instance;
use recado_domain::secret::{Secret, derive_webhook_secret};
use std::fmt;

/// Placeholder for a secret in a URL that is shown.
pub(crate) const HIDDEN_SECRET: &str = "{secret}";

/// The webhook setup of an instance at its provider.
#[derive(Clone)]
pub struct WebhookSetup {
    /// Webhook URL; `None` if the provider's events do not come by webhook.
    pub url: Option<String>,
    /// Webhook secret of the instance. `None` if the provider uses none, if it may not be shown, or if there is no
    /// master secret.
    pub secret: Option<Secret>,
    /// Header in which the provider must send the secret, if the provider is configured with a header.
    pub secret_header: Option<&'static str>,
    /// `true` if the key that proves the instance's webhooks is configured.
    pub proof_set: bool,
    /// `true` if the token of the handshake is configured; `None` if the provider has no handshake.
    pub verify_token_set: Option<bool>,
}

impl WebhookSetup {
    /// Setup of a provider without webhooks: nothing to set and nothing missing.
    pub(crate) const NOTHING: Self = Self {
        url: None,
        secret: None,
        secret_header: None,
        proof_set: true,
        verify_token_set: None,
    };
}

impl fmt::Debug for WebhookSetup {
    /// Omits the URL, which can contain the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSetup")
            .field("secret", &self.secret)
            .field("secret_header", &self.secret_header)
            .field("proof_set", &self.proof_set)
            .field("verify_token_set", &self.verify_token_set)
            .finish_non_exhaustive()
    }
}

/// Returns the secret of an instance under the current master secret; `None` without a master or an external id.
pub(crate) fn current_webhook_secret(instance: &Instance, keys: &WebhookKeys) -> Option<Secret> {
    let master = keys.masters.first()?;
    let external = instance.resolve_external_id()?;
    Some(derive_webhook_secret(
        master,
        instance.provider,
        &external,
        &instance.secret_parts(),
    ))
}
