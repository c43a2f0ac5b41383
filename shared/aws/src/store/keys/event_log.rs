//! The keys of the log of published events, and of push connections: the open web sockets that are told that there is more to read.
//!
//! | record | `pk` | `sk` |
//! | --- | --- | --- |
//! | published events that were written together, up to a number | `Z#{tenant}`, and all once more `Z#` | `{number}` |
//! | head of the log of published events | `ZH` | `HEAD` |
//! | note that changes are published, by the first of them | `ZB#{change}` | `B` |
//! | note that it is published that a message was sent | `ZS#{message}` | `S` |
//! | ticket that opens a connection once | `ZT#{hash of its text}` | `T` |
//! | connection of a tenant, or (`ZL#`) of the installation | `ZL#{tenant}` | `C#{connection}` |
//! | note until when somebody of the tenant listens | `ZL#{tenant}` | `UNTIL` |
//! | tenant of a connection | `ZC#{connection}` | `C` |
//!
//! All begin with `Z`: the function that publishes may write no others.

use super::TableKey;
use recado_domain::ids::{MessageId, TenantId, hash_parts};
use recado_domain::published_event::EventCursor;

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
}

/// Returns the `pk` of a tenant's log. `None`: of the installation's, which holds the events of all tenants once more.
pub(crate) fn event_log_pk(tenant: Option<&TenantId>) -> String {
    format!("Z#{}", tenant.map_or("", TenantId::as_str))
}

/// Returns the `sk` of the events up to a number.
pub(crate) fn event_log_sk(last: EventCursor) -> String {
    format!("{:020}", last.0)
}

/// The prefix of the `sk` of the connections of a tenant.
pub(crate) const PUSH_CONNECTIONS: &str = "C#";

impl TableKey {
    /// Returns the key of a ticket, by the hash of its text.
    pub(crate) fn for_push_ticket(text: &str) -> Self {
        Self::new(format!("ZT#{}", hash_parts(&["push ticket", text], 32)), "T")
    }

    /// Returns the key of a connection.
    pub(crate) fn for_push_connection(tenant: Option<&TenantId>, connection: &str) -> Self {
        let sk = format!("{PUSH_CONNECTIONS}{connection}");
        Self::new(push_connections_pk(tenant), sk)
    }

    /// Returns the key of the note until when somebody of a tenant listens.
    pub(crate) fn for_push_listening(tenant: Option<&TenantId>) -> Self {
        Self::new(push_connections_pk(tenant), "UNTIL")
    }

    /// Returns the key under which the tenant of a connection is found.
    pub(crate) fn for_push_connection_owner(connection: &str) -> Self {
        Self::new(format!("ZC#{connection}"), "C")
    }
}

/// Returns the `pk` of a tenant's connections. `None`: of those that are told of all tenants.
pub(crate) fn push_connections_pk(tenant: Option<&TenantId>) -> String {
    format!("ZL#{}", tenant.map_or("", TenantId::as_str))
}
