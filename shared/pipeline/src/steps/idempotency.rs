//! Claims of clients' idempotency keys: the same request with the same key is one message.

use crate::Deps;
use crate::ports::{Conversations, IdempotencyClaim, IdempotencyRecord, PortResult, System};
use jiff::Timestamp;
use recado_domain::ids::{IdempotencyKey, hash_parts};
use recado_domain::millis::add_duration;

/// Makes the claim of a client's key in `scope`. `parts` distinguish the request from every other. A message that is to
/// be sent at `send_at` keeps its key long after that, so that a repeated request still finds the message.
pub(crate) fn make_claim(
    deps: &impl Deps,
    scope: String,
    key: IdempotencyKey,
    parts: &[&str],
    send_at: Option<Timestamp>,
) -> IdempotencyClaim {
    let ttl = deps.settings().key_ttl;
    let now = deps.system().now();
    IdempotencyClaim {
        scope,
        key,
        request_hash: hash_parts(parts, 32),
        expires: add_duration(send_at.map_or(now, |at| at.max(now)), ttl),
    }
}

/// Returns the request for which the claimed key was used before; `None` without a claim, or if the key was not used.
pub(crate) async fn find_claimed(
    deps: &impl Deps,
    claim: Option<&IdempotencyClaim>,
) -> PortResult<Option<IdempotencyRecord>> {
    match claim {
        Some(claim) => deps.store().find_idempotency_key(&claim.scope, &claim.key).await,
        None => Ok(None),
    }
}
