//! The keys that open the HTTP surface.

use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_pipeline::ports::PortError;
use recado_whatsapp::webhook::WebhookKeys;
use std::future::Future;
use std::sync::Arc;

/// Where those keys come from. Asked at every request: an implementation keeps them for some minutes, and an error (the
/// place they are kept in could not be reached) makes the request a 503, never an open door.
pub trait Keys: Send + Sync + 'static {
    /// What webhooks of this provider are proven with. What belongs to others may be left out: one provider's webhooks
    /// must not depend on where another's keys are kept.
    fn webhook_keys(
        &self,
        provider: Provider,
    ) -> impl Future<Output = Result<Arc<WebhookKeys>, PortError>> + Send;

    /// The operators' bearer token; without one nobody is let in.
    fn operator_token(&self) -> impl Future<Output = Result<Option<Secret>, PortError>> + Send;
}
