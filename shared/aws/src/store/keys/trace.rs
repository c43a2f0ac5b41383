//! The keys of the index `trace`. Its range key is the owner of a record, so that a tenant's are read alone. It is short, since
//! each event and message has it.

use super::super::item::{Item, text_attribute};
use super::hash_parts;
use recado_domain::ids::{CorrelationId, ExternalId, TenantId};
use recado_domain::provider::Provider;

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
