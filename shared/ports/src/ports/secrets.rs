use super::PortResult;
use recado_domain::config::CredentialRef;
use recado_domain::secret::Secret;
use std::future::Future;

/// A source of secrets.
pub trait Secrets: Send + Sync {
    /// Returns the secret that `reference` names; `None` if there is none. A secret is read once and cached for some
    /// minutes.
    fn resolve_secret(
        &self,
        reference: &CredentialRef,
    ) -> impl Future<Output = PortResult<Option<Secret>>> + Send;

    /// Removes a secret from the cache, because it was refused and so may have been changed.
    fn forget_secret(&self, reference: &CredentialRef) -> impl Future<Output = ()> + Send;
}
