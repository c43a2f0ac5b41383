use super::PortResult;
use recado_domain::identity::IdentityKey;
use std::future::Future;

/// The installation's identity key. It lies with the records, so that a copy of them carries it.
pub trait IdentityKeyStore: Send + Sync {
    /// The key, if there is one yet. A process asks its database once.
    fn find_identity_key(&self) -> impl Future<Output = PortResult<Option<IdentityKey>>> + Send;

    /// Keeps `new` if there is no key yet; returns the one that is kept, which never changes again.
    fn put_identity_key_if_absent(
        &self,
        new: &IdentityKey,
    ) -> impl Future<Output = PortResult<IdentityKey>> + Send;
}
