//! The source of the secrets with which requests are checked.

use recado_domain::config::CredentialRef;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_pipeline::ports::PortError;
use recado_whatsapp::webhook::WebhookKeys;
use std::future::Future;
use std::sync::Arc;

/// The source of the webhook keys and of the operators' token. It is asked at every request, so an implementation
/// caches them for some minutes. An error (the place where they are kept cannot be reached) makes the request a 503; it
/// never lets a request through.
pub trait Keys: Send + Sync + 'static {
    /// Returns the keys that prove this provider's webhooks. Keys of other providers may be left out: one provider's
    /// webhooks must not depend on the place where another's keys are kept.
    fn webhook_keys(
        &self,
        provider: Provider,
    ) -> impl Future<Output = Result<Arc<WebhookKeys>, PortError>> + Send;

    /// Returns the secret of an instance's own app; `None` if it is not there. The webhooks that it should prove are then
    /// refused.
    fn app_secret(
        &self,
        _: &CredentialRef,
    ) -> impl Future<Output = Result<Option<Secret>, PortError>> + Send {
        std::future::ready(Ok(None))
    }

    /// Returns the bearer token that opens the metrics and nothing else; `None`: there is none.
    fn metrics_token(&self) -> impl Future<Output = Result<Option<Secret>, PortError>> + Send {
        std::future::ready(Ok(None))
    }

    /// Returns the operators' bearer token. `None` if no token is configured: then every request is refused.
    fn operator_token(&self) -> impl Future<Output = Result<Option<Secret>, PortError>> + Send;
}
