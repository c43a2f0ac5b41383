//! The keys of push connections: the open web sockets that are told that there is more to read.
//!
//! | record | `pk` | `sk` |
//! | --- | --- | --- |
//! | ticket that opens a connection once | `ZT#{hash of its text}` | `T` |
//! | connection of a tenant, or (`ZL#`) of the installation | `ZL#{tenant}` | `C#{connection}` |
//! | note until when somebody of the tenant listens | `ZL#{tenant}` | `UNTIL` |
//! | tenant of a connection | `ZC#{connection}` | `C` |

use crate::store::keys::TableKey;
use recado_domain::ids::{TenantId, hash_parts};

/// The prefix of the `sk` of the connections of a tenant.
pub(crate) const PUSH_CONNECTIONS: &str = "C#";

impl TableKey {
    /// Returns the key of a ticket, by the hash of its text.
    pub(crate) fn for_push_ticket(text: &str) -> Self {
        Self::new(format!("ZT#{}", hash_parts(&["push ticket", text], 32)), "T")
    }

    /// Returns the key of a connection.
    pub(crate) fn for_push_connection(tenant: Option<&TenantId>, connection: &str) -> Self {
        Self::new(
            push_connections_pk(tenant),
            format!("{PUSH_CONNECTIONS}{connection}"),
        )
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
