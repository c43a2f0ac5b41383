//! The keys of the log of published events, and of the posts of its events to endpoints.
//!
//! | record | `pk` | `sk` |
//! | --- | --- | --- |
//! | published events that were written together, up to a number | `Z#{tenant}`, and all once more `Z#` | `{number}` |
//! | head of the log of published events | `ZH` | `HEAD` |
//! | note that changes are published, by the first of them | `ZB#{change}` | `B` |
//! | note that it is published that a message was sent | `ZS#{message}` | `S` |
//! | state of an endpoint of a tenant | `ZE` | `{tenant}#{endpoint}` |
//! | event that an endpoint did not accept | `ZF#{tenant}` | `{endpoint}#{number}` |
//! | push connections and their tickets | `ZT…`, `ZL…`, `ZC…` | see `push` |
//!
//! All begin with `Z`: the functions that publish and post may write no others. An event that an endpoint did not accept is in the
//! index `open` while it is tried again, each endpoint's in a shard of its own.

mod push;

pub(crate) use push::{PUSH_CONNECTIONS, push_connections_pk};

use super::TableKey;
use recado_domain::ids::{MessageId, TenantId, WebhookEndpointId};
use recado_domain::published_event::EventCursor;

/// The `pk` of the states of all endpoints, sorted by tenant.
pub(crate) const ENDPOINT_STATES_PK: &str = "ZE";

impl TableKey {
    /// Returns the key of the head of the log: the newest number that was given.
    pub(crate) fn for_event_log_head() -> Self {
        Self::new("ZH".to_owned(), "HEAD")
    }

    /// Returns the key of events of a tenant's log that were written together, or (`None`) of the installation's.
    pub(crate) fn for_logged_events(tenant: Option<&TenantId>, last: EventCursor) -> Self {
        Self::new(event_log_pk(tenant), event_log_sk(last))
    }

    /// Returns the key of the note that changes from the record `first` of the stream on are published.
    pub(crate) fn for_published_changes(first: &str) -> Self {
        Self::new(format!("ZB#{first}"), "B")
    }

    /// Returns the key of the note that it is published that a message was sent.
    pub(crate) fn for_sent_note(message: &MessageId) -> Self {
        Self::new(format!("ZS#{message}"), "S")
    }

    /// Returns the key of the state of an endpoint.
    pub(crate) fn for_endpoint_state(tenant: &TenantId, endpoint: &WebhookEndpointId) -> Self {
        Self::new(ENDPOINT_STATES_PK.to_owned(), format!("{tenant}#{endpoint}"))
    }

    /// Returns the key of an event that an endpoint did not accept.
    pub(crate) fn for_failed_event(
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        cursor: EventCursor,
    ) -> Self {
        let prefix = failed_events_prefix(endpoint);
        Self::new(
            failed_events_pk(tenant),
            format!("{prefix}{}", event_log_sk(cursor)),
        )
    }
}

/// Returns the `pk` of a tenant's log. `None`: of the installation's, which holds the events of all tenants once more.
pub(crate) fn event_log_pk(tenant: Option<&TenantId>) -> String {
    format!("Z#{}", tenant.map_or("", TenantId::as_str))
}

/// Returns the `sk` of the events up to a number.
pub(crate) fn event_log_sk(last: EventCursor) -> String {
    format!("{:020}", last.0)
}

/// Returns the prefix of the `sk` of the states of a tenant's endpoints. No id contains a `#`.
pub(crate) fn endpoint_states_prefix(tenant: &TenantId) -> String {
    format!("{tenant}#")
}

/// Returns the `pk` of the events that a tenant's endpoints did not accept.
pub(crate) fn failed_events_pk(tenant: &TenantId) -> String {
    format!("ZF#{tenant}")
}

/// Returns the prefix of the `sk` of those of an endpoint.
pub(crate) fn failed_events_prefix(endpoint: &WebhookEndpointId) -> String {
    format!("{endpoint}#")
}

/// Returns the `open_shard` of the events that an endpoint is to be posted again.
pub(crate) fn due_failed_events_shard(tenant: &TenantId, endpoint: &WebhookEndpointId) -> String {
    format!("ZF#{tenant}#{endpoint}")
}
