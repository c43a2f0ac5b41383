//! The source of the secrets with which requests are checked.

use async_trait::async_trait;
use recado_domain::config::CredentialRef;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_pipeline::ports::PortError;
use recado_whatsapp::webhook::WebhookKeys;
use std::sync::Arc;

/// The source of the webhook keys and of the operators' token. It is asked at every request, so an implementation
/// caches them for some minutes. An error (the place where they are kept cannot be reached) makes the request a 503; it
/// never lets a request through.
#[async_trait]
pub trait Keys: Send + Sync + 'static {
    /// Returns the keys that prove this provider's webhooks. Keys of other providers may be left out: one provider's
    /// webhooks must not depend on the place where another's keys are kept.
    async fn webhook_keys(&self, provider: Provider) -> Result<Arc<WebhookKeys>, PortError>;

    /// Returns the secret of an instance's own app; `None` if it is not there. The webhooks that it should prove are then
    /// refused.
    async fn app_secret(&self, _: &CredentialRef) -> Result<Option<Secret>, PortError> {
        Ok(None)
    }

    /// Returns the bearer token that opens the metrics and nothing else; `None`: there is none.
    async fn metrics_token(&self) -> Result<Option<Secret>, PortError> {
        Ok(None)
    }

    /// Returns the operators' bearer token. `None` if no token is configured: then every request is refused.
    async fn operator_token(&self) -> Result<Option<Secret>, PortError>;
}
