//! The keys of opt-outs.

use super::TableKey;
use recado_domain::ids::TenantId;
use recado_domain::opt_out::RecipientKey;

impl TableKey {
    /// Returns the key of the preference of a recipient.
    pub(crate) fn for_opt_out(tenant: &TenantId, recipient: &RecipientKey) -> Self {
        Self::new(opt_outs_partition_key(tenant), recipient.as_str())
    }
}

/// Returns the `pk` of the preferences of a tenant's recipients.
pub(crate) fn opt_outs_partition_key(tenant: &TenantId) -> String {
    format!("F#{tenant}")
}
