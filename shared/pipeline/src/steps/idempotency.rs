//! Claims of clients' idempotency keys: the same request with the same key is one message.

use crate::Deps;
use crate::steps::identity::load_identity_key;
use jiff::Timestamp;
use recado_domain::ids::{IdempotencyKey, MessageId, TenantId, hash_parts};
use recado_domain::millis::add_duration;
use recado_domain::moving::HeldKey;
use recado_ports::ports::PortResult;
use recado_ports::records::client_keys::{delete_client_key, find_client_key, hold_client_key};
use recado_ports::table::Write;

/// A client's idempotency key for a request that the client may repeat.
#[derive(Debug, Clone)]
pub struct IdempotencyClaim {
    pub tenant: TenantId,
    scope: String,
    key: IdempotencyKey,
    request_hash: String,
    expires: Timestamp,
}

impl IdempotencyClaim {
    /// Returns `true` if the request for which the key was used before is this one.
    pub fn is_request_of(&self, held: &HeldKey) -> bool {
        self.request_hash == held.request_hash
    }
}

/// Makes the claim of a client's key in `scope`, an instance or a conversation of the tenant. `parts` distinguish the request from every
/// other. A message that is to be sent at `send_at` keeps its key long after that, so that a repeated request still finds the message.
/// The claim holds a hash of the key: after the contact's erasure nothing may tell of it.
pub async fn make_claim(
    deps: &Deps,
    (tenant, scope): (&TenantId, String),
    key: &IdempotencyKey,
    parts: &[&str],
    send_at: Option<Timestamp>,
) -> PortResult<IdempotencyClaim> {
    let ttl = deps.settings().key_ttl;
    let now = deps.system().now();
    Ok(IdempotencyClaim {
        tenant: tenant.clone(),
        scope,
        key: load_identity_key(deps).await?.hash_client_key(key),
        request_hash: hash_parts(parts, 32),
        expires: add_duration(send_at.map_or(now, |at| at.max(now)), ttl),
    })
}

/// Returns the writes by which a claimed key names `message`, unless it was used before. They are made beside the message.
pub fn hold_claimed(claim: Option<&IdempotencyClaim>, message: &MessageId) -> PortResult<Vec<Write>> {
    let Some(claim) = claim.cloned() else {
        return Ok(Vec::new());
    };
    hold_client_key(HeldKey {
        tenant: Some(claim.tenant),
        scope: claim.scope,
        key: claim.key,
        request_hash: claim.request_hash,
        message: message.clone(),
        expires: claim.expires,
    })
}

/// Deletes the claim of a client's key in `scope`.
pub async fn delete_claim(
    deps: &Deps,
    (tenant, scope): (&TenantId, &str),
    key: &IdempotencyKey,
) -> PortResult<()> {
    let key = load_identity_key(deps).await?.hash_client_key(key);
    delete_client_key(deps.store(), tenant, scope, &key).await
}

/// Returns the request for which the claimed key was used before. `None`: there is no claim, or the key was not used.
pub async fn find_claimed(deps: &Deps, claim: Option<&IdempotencyClaim>) -> PortResult<Option<HeldKey>> {
    match claim {
        Some(claim) => find_client_key(deps.store(), &claim.tenant, &claim.scope, &claim.key).await,
        None => Ok(None),
    }
}
