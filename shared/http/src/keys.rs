//! The keys that open the HTTP surface.

use recado_domain::event::Provider;
use recado_domain::secret::Secret;
use recado_pipeline::ports::PortError;
use std::future::Future;
use std::sync::Arc;

/// Where those keys come from. Asked at every request: an implementation keeps them for some minutes, and an error (the
/// place they are kept in could not be reached) makes the request a 503, never an open door.
pub trait Keys: Send + Sync + 'static {
    /// What webhooks of this provider are proven with. What belongs to others may be left out: one provider's webhooks
    /// must not depend on where another's keys are kept.
    fn webhook(&self, provider: Provider)
    -> impl Future<Output = Result<Arc<WebhookKeys>, PortError>> + Send;

    /// The operators' bearer token; without one nobody is let in.
    fn operator_token(&self) -> impl Future<Output = Result<Option<Secret>, PortError>> + Send;
}

/// What webhooks are proven with.
#[derive(Debug, Clone, Default)]
pub struct WebhookKeys {
    /// The masters that instances' secrets are derived from: the present one first, the one before while it is replaced.
    pub masters: Vec<Secret>,
    /// Meta's app secrets, the present one and the one before.
    pub meta_app_secrets: Vec<Secret>,
    /// The token of Meta's verification handshake.
    pub meta_verify_token: Option<Secret>,
    /// The secrets with which 360dialog signs what it sends to a partner's platform; a number's own secret does without.
    pub dialog360_partner_secrets: Vec<Secret>,
}
