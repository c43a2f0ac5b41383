//! Ids that are derived from addresses with the installation's identity key.

use crate::Deps;
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{InstanceId, ThreadId};
use recado_ports::ports::PortResult;

/// Returns the identity key. The first use case that needs the key creates it.
pub async fn load_identity_key(deps: &Deps) -> PortResult<IdentityKey> {
    let make = || IdentityKey::from_random(std::array::from_fn(|_| deps.system().random_u64()));
    deps.store().keep_identity_key(&make).await
}

/// Returns the id of the thread of the contact `address` on `instance`.
pub async fn derive_thread_id(deps: &Deps, instance: &InstanceId, address: &str) -> PortResult<ThreadId> {
    Ok(load_identity_key(deps).await?.derive_thread_id(instance, address))
}
