use super::PortResult;
use recado_domain::identity::IdentityKey;
use std::future::Future;

/// A store of the installation's identity key. The key is kept with the records, so that a copy of the records contains
/// it.
pub trait IdentityKeyStore: Send + Sync {
    /// Returns the identity key; `None` if there is none yet. A process asks its database once.
    fn find_identity_key(&self) -> impl Future<Output = PortResult<Option<IdentityKey>>> + Send;

    /// Stores `new` if there is no identity key yet. Returns the stored key, which never changes again.
    fn put_identity_key_if_absent(
        &self,
        new: &IdentityKey,
    ) -> impl Future<Output = PortResult<IdentityKey>> + Send;
}
