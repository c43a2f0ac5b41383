//! The keys of the places of tenants' turns.

use super::TableKey;
use recado_domain::ids::TenantId;

impl TableKey {
    /// Returns the key of the places of a tenant's turns.
    pub(crate) fn for_turn_places(tenant: &TenantId) -> Self {
        Self::new(turn_places_pk(tenant), "W")
    }
}

/// Returns the `pk` of the places of a tenant's turns.
pub(crate) fn turn_places_pk(tenant: &TenantId) -> String {
    format!("W#{tenant}")
}
