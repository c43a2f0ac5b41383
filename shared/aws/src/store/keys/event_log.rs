//! The keys of the log of published events.
//!
//! | record | `pk` | `sk` |
//! | --- | --- | --- |
//! | published events that were written together, up to a number | `Z#{tenant}`, and all once more `Z#` | `{number}` |
//! | head of the log of published events | `ZH` | `HEAD` |
//! | note that changes are published, by the first of them | `ZB#{change}` | `B` |
//! | note that it is published that a message was sent | `ZS#{message}` | `S` |
//! | push connections and their tickets | `ZT…`, `ZL…`, `ZC…` | see `push` |
//!
//! All begin with `Z`: the function that publishes may write no others.

mod push;

pub(crate) use push::{PUSH_CONNECTIONS, push_connections_pk};

use super::TableKey;
use recado_domain::ids::{MessageId, TenantId};
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
