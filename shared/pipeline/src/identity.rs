//! Ids of addresses, derived with the installation's identity key.

use crate::World;
use crate::ports::{Ambient, Identity, PortResult};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{InstanceId, ThreadId};

/// The identity key. The first use case that needs one makes it.
pub(crate) async fn key<W: World>(world: &W) -> PortResult<IdentityKey> {
    if let Some(known) = world.store().identity_key().await? {
        return Ok(known);
    }
    let new = IdentityKey::of_random(std::array::from_fn(|_| world.ambient().random()));
    world.store().keep_identity_key(&new).await
}

/// The thread of the contact `address` on `instance`.
pub(crate) async fn thread<W: World>(
    world: &W,
    instance: &InstanceId,
    address: &str,
) -> PortResult<ThreadId> {
    Ok(key(world).await?.thread(instance, address))
}
