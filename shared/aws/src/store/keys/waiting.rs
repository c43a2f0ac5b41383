//! The keys of what is waited for: the answers that people owe, and the acknowledgements that WhatsApp owes.

use super::super::item::{Item, number_attribute, text_attribute};
use super::{TableKey, hash_to_shard, index_tenant_list, open_shard};
use recado_domain::Timestamp;
use recado_domain::ids::TenantId;

/// The kind of conversations in which a person owes an answer. They are only looked at, so `reconcile` leaves them out.
pub(crate) const PERSON_OWED: char = 'W';

/// The kind of deliveries whose acknowledgement WhatsApp owes. They are only looked at, too.
pub(crate) const UNACKNOWLEDGED: char = 'U';

/// The attribute with the tenant of a conversation or delivery. The conversation is one in which a person owes an answer, the
/// delivery one that is not acknowledged. No other record has it, so the index `open` is not larger for them.
pub(crate) const WAIT_TENANT: &str = "wait_tenant";

/// Returns the `tenant_list` of a tenant's conversations in which a person owes an answer.
pub(crate) fn tenant_waiting(tenant: &TenantId) -> String {
    format!("{PERSON_OWED}#{tenant}")
}

/// Adds the time since which a person owes an answer to `item`. The index `open` finds it under [`PERSON_OWED`], with its
/// tenant, and the index `tenants` in the tenant's own list. The return of the agent may be due in such a conversation; the index holds its time.
pub(crate) fn index_person_owed(
    item: &mut Item,
    key: &TableKey,
    tenant: &TenantId,
    since: Option<Timestamp>,
) {
    if let Some(since) = since {
        item.insert(WAIT_TENANT.to_owned(), text_attribute(tenant.as_str()));
        let shard = open_shard(PERSON_OWED, hash_to_shard(&[&key.pk, &key.sk]));
        item.insert("open_shard".to_owned(), text_attribute(shard));
        item.insert("open_due".to_owned(), number_attribute(since.as_millisecond()));
        index_tenant_list(item, tenant_waiting(tenant), since);
    }
}

/// Returns the shard of the index `open` that has a tenant's deliveries while they are not acknowledged.
pub(crate) fn unacknowledged_shard(tenant: &TenantId) -> String {
    open_shard(UNACKNOWLEDGED, hash_to_shard(&[tenant.as_str()]))
}

/// Returns the shard of the index `open` under which nobody looks. A delivery gets it whose first status came before the
/// link to its message.
pub(crate) fn acknowledged_shard(key: &TableKey) -> String {
    let shard = open_shard(UNACKNOWLEDGED, hash_to_shard(&[&key.pk, &key.sk]));
    format!("-{shard}")
}
