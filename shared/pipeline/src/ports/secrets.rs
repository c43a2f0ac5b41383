use super::PortResult;
use recado_domain::config::CredentialRef;
use recado_domain::secret::Secret;
use std::future::Future;

/// Where secrets are kept.
pub trait Secrets: Send + Sync {
    /// The secret that `reference` names; `None` if there is none. Read once and kept for some minutes.
    fn resolve_secret(
        &self,
        reference: &CredentialRef,
    ) -> impl Future<Output = PortResult<Option<Secret>>> + Send;

    /// Forgets what is kept of it: it was refused, so it may have been changed.
    fn forget_secret(&self, reference: &CredentialRef) -> impl Future<Output = ()> + Send;
}
