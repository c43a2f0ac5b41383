//! Claims of clients' idempotency keys: the same request with the same key is one message.

use crate::Deps;
use crate::steps::identity::load_identity_key;
use jiff::Timestamp;
use recado_domain::ids::{IdempotencyKey, hash_parts};
use recado_domain::millis::add_duration;
use recado_ports::ports::{
    Conversations, ErasableRecords, IdempotencyClaim, IdempotencyRecord, PortResult, System,
};

/// Makes the claim of a client's key in `scope`. `parts` distinguish the request from every other. A message that is to
/// be sent at `send_at` keeps its key long after that, so that a repeated request still finds the message. The claim holds a
/// hash of the key: after the contact's erasure nothing may tell of it.
pub(crate) async fn make_claim(
    deps: &impl Deps,
    scope: String,
    key: IdempotencyKey,
    parts: &[&str],
    send_at: Option<Timestamp>,
) -> PortResult<IdempotencyClaim> {
    let ttl = deps.settings().key_ttl;
    let now = deps.system().now();
    Ok(IdempotencyClaim {
        scope,
        key: load_identity_key(deps).await?.hash_client_key(&key),
        request_hash: hash_parts(parts, 32),
        expires: add_duration(send_at.map_or(now, |at| at.max(now)), ttl),
    })
}

/// Deletes the claim of a client's key in `scope`.
pub(crate) async fn delete_claim(deps: &impl Deps, scope: &str, key: &IdempotencyKey) -> PortResult<()> {
    let key = load_identity_key(deps).await?.hash_client_key(key);
    deps.store().delete_idempotency_key(scope, &key).await
}

/// Returns the request for which the claimed key was used before. `None`: there is no claim, or the key was not used.
pub(crate) async fn find_claimed(
    deps: &impl Deps,
    claim: Option<&IdempotencyClaim>,
) -> PortResult<Option<IdempotencyRecord>> {
    match claim {
        Some(claim) => deps.store().find_idempotency_key(&claim.scope, &claim.key).await,
        None => Ok(None),
    }
}
