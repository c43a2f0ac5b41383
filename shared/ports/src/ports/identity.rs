use super::PortResult;
use async_trait::async_trait;
use recado_domain::identity::IdentityKey;

/// A store of the installation's identity key. The key is kept with the records, so that a copy of the records contains
/// it.
#[async_trait]
pub trait IdentityKeyStore: Send + Sync {
    /// Returns the identity key; `None` if there is none yet. A process asks its database once.
    async fn find_identity_key(&self) -> PortResult<Option<IdentityKey>>;

    /// Stores `new` if there is no identity key yet. Returns the stored key, which never changes again.
    async fn put_identity_key_if_absent(&self, new: &IdentityKey) -> PortResult<IdentityKey>;
}
