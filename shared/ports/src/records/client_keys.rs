//! The idempotency keys of clients. A key names the message that its request made, so that the same request is the same message.

use crate::ports::PortResult;
use crate::table::{Change, Record, Table, Versioned, Write, delete_record, find_record};
use jiff::{SignedDuration, Timestamp};
use recado_domain::ids::{IdempotencyKey, TenantId};
use recado_domain::moving::HeldKey;

impl Record for HeldKey {
    const KIND: &'static str = "client-keys";
    // So that nothing is sent twice.
    const KEPT_EXPIRED: SignedDuration = SignedDuration::from_hours(7 * 24);

    /// A key whose tenant is not known is kept, and found by nobody.
    fn owner(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }

    fn build_sort_key(&self) -> String {
        format_sort_of_key(&self.scope, &self.key)
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.expires)
    }
}

/// No key holds a `#`.
fn format_sort_of_key(scope: &str, key: &IdempotencyKey) -> String {
    format!("{scope}#{}", key.as_str())
}

/// Returns the writes that store a key if it is new or expired. They are made beside the message that the key names.
pub fn hold_client_key(key: HeldKey) -> PortResult<Vec<Write>> {
    Ok(Change::save(&Versioned::new(key))?.writes)
}

/// Returns a key with the request for which it was used; `None` if it is new or expired.
pub async fn find_client_key(
    table: &dyn Table,
    tenant: &TenantId,
    scope: &str,
    key: &IdempotencyKey,
) -> PortResult<Option<HeldKey>> {
    find_record(table, Some(tenant), &format_sort_of_key(scope, key)).await
}

/// Deletes a key, if there is one.
pub async fn delete_client_key(
    table: &dyn Table,
    tenant: &TenantId,
    scope: &str,
    key: &IdempotencyKey,
) -> PortResult<()> {
    delete_record::<HeldKey>(table, Some(tenant), &format_sort_of_key(scope, key)).await
}
