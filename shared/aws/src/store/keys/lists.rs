//! The keys of lists and of the indexes. The range key of the index `trace` is the owner of a record, so that a tenant's are read
//! alone. It is short, since each event and message has it.

use super::super::item::{Item, get_integer, number_attribute, text_attribute};
use super::{TableKey, WAITING_FILE, hash_parts, hash_to_number, hash_to_shard};
use recado_domain::Timestamp;
use recado_domain::ids::{CorrelationId, ExternalId, InstanceId, TenantId};
use recado_domain::provider::Provider;

/// The number of lists over which a tenant's conversations are spread, by their instances.
const LISTS_OF_TENANT: u32 = 4;

/// The milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;

/// Returns the `list_key` of a tenant's conversations on an instance. Other instances of the tenant may share it.
pub(crate) fn conversation_list_key(tenant: &TenantId, instance: &InstanceId) -> String {
    numbered_list_key(tenant, hash_to_number(&[instance.as_str()]) % LISTS_OF_TENANT)
}

/// Returns the `list_key` of each list of a tenant's conversations.
pub(crate) fn tenant_conversation_list_keys(tenant: &TenantId) -> Vec<String> {
    let numbers = 0..LISTS_OF_TENANT;
    numbers.map(|number| numbered_list_key(tenant, number)).collect()
}

fn numbered_list_key(tenant: &TenantId, number: u32) -> String {
    format!("CONV#{tenant}#{number}")
}

/// Returns the `list_key` of a tenant's conversations that nobody sees.
pub(crate) fn unlisted_list_key(tenant: &TenantId) -> String {
    format!("UNLISTED#{tenant}")
}

/// Returns the `list_key` of the retention of a tenant's conversations.
pub(crate) fn retention_list_key(tenant: &TenantId) -> String {
    format!("KEEP#{tenant}")
}

/// Adds a record to the list `list` of a tenant in the index `tenants`, at a time.
pub(crate) fn index_tenant_list(item: &mut Item, list: String, at: Timestamp) {
    item.insert("tenant_list".to_owned(), text_attribute(list));
    item.insert("tenant_at".to_owned(), number_attribute(at.as_millisecond()));
}

/// Returns the `active_shard` with the number `shard`.
pub(crate) fn active_shard(shard: u32) -> String {
    format!("A{shard}")
}

/// Returns the time, in milliseconds, at which the hour of `at` begins.
fn start_of_hour(at: i64) -> i64 {
    at.saturating_sub(at.rem_euclid(HOUR_MS))
}

/// Adds the hour of the last message to a conversation's item, for the index `active`. Only the first message of an hour
/// changes it.
pub(crate) fn index_active(item: &mut Item, key: &TableKey, last_message: Timestamp) {
    let shard = active_shard(hash_to_shard(&[&key.pk]));
    let hour = start_of_hour(last_message.as_millisecond());
    item.insert("active_shard".to_owned(), text_attribute(shard));
    item.insert("active_at".to_owned(), number_attribute(hour));
}

/// Returns the hour that an item of the index `active` has, by the time at which it begins.
pub(crate) fn parse_active_hour(item: &Item) -> Option<i64> {
    get_integer(item, "active_at")
}

/// The kinds of records that can be open: events, open messages, conversations, instances, parked conversations, messages
/// whose files are waited for.
pub(crate) const OPEN_KINDS: [char; 6] = ['E', 'O', 'C', 'I', 'P', WAITING_FILE];

/// Lists the shards of due items of a kind of the table, by their `open_shard`. More may be added.
pub(crate) fn list_due_shards(kind: &str) -> Vec<String> {
    vec![format!("{kind}0")]
}

/// Returns the `open_shard` of an item of a kind of the table.
pub(crate) fn due_shard(kind: &str, key: &TableKey) -> String {
    let mut shards = list_due_shards(kind);
    let place = usize::try_from(hash_to_shard(&[&key.pk, &key.sk])).unwrap_or_default();
    shards.swap_remove(place % shards.len())
}

/// The bytes of the hash that names an owner. Whoever reads a record looks at its owner himself.
const OWNER_BYTES: usize = 4;

/// Returns the owner of a tenant's messages.
pub(crate) fn message_owner(tenant: &TenantId) -> String {
    hash_parts(&["tenant", tenant.as_str()], OWNER_BYTES)
}

/// Returns the owner of the events of an instance, as the provider names it. Whose instance that is says the configuration.
pub(crate) fn event_owner(provider: Provider, external: &ExternalId) -> String {
    hash_parts(&["instance", provider.as_str(), external.as_str()], OWNER_BYTES)
}

/// Adds the correlation id and the owner to `item`, so that the index `trace` finds it.
pub(crate) fn index_trace(item: &mut Item, correlation: &CorrelationId, owner: String) {
    item.insert("trace".to_owned(), text_attribute(correlation.as_str()));
    item.insert("trace_of".to_owned(), text_attribute(owner));
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::ids::ConversationId;
    use recado_domain::millis::from_unix_millis;

    #[test]
    fn an_instances_conversations_are_in_one_of_its_tenants_lists() {
        let [one, other] = ["clinic", "clinic-2"].map(|id| TenantId::parse(id).unwrap());
        for number in 0..20 {
            let instance = InstanceId::parse(&format!("desk-{number}")).unwrap();
            let key = conversation_list_key(&one, &instance);
            assert!(tenant_conversation_list_keys(&one).contains(&key), "{key}");
            assert!(!tenant_conversation_list_keys(&other).contains(&key), "{key}");
        }
    }

    #[test]
    fn messages_of_one_hour_leave_the_index_of_active_conversations_as_it_is() {
        let id = ConversationId::parse("c_0123456789abcdef0123456789abcdef-1").unwrap();
        let indexed = |at| {
            let mut item = Item::new();
            index_active(&mut item, &TableKey::for_conversation(&id), from_unix_millis(at));
            item
        };
        assert_eq!(indexed(7 * HOUR_MS), indexed(8 * HOUR_MS - 1));
        assert_ne!(indexed(8 * HOUR_MS), indexed(8 * HOUR_MS - 1));
        assert_eq!(parse_active_hour(&indexed(8 * HOUR_MS - 1)), Some(7 * HOUR_MS));
    }
}
