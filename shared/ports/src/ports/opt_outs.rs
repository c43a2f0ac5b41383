use super::{Page, PageRequest, PortResult};
use recado_domain::ids::TenantId;
use recado_domain::opt_out::{OptOut, RecipientKey};
use std::future::Future;

/// A store of opt-outs: the preference of each recipient of a tenant, as it was told last.
pub trait OptOuts: Send + Sync {
    /// Stores a preference if it changes something ([`OptOut::resolve_with_known`]). Returns `true` if it did. The same preference may be told again.
    fn apply_opt_out(&self, preference: &OptOut) -> impl Future<Output = PortResult<bool>> + Send;

    /// Finds the preferences of these recipients of a tenant, at most 10, in any order. One without a preference is left out.
    fn find_opt_outs(
        &self,
        tenant: &TenantId,
        recipients: &[RecipientKey],
    ) -> impl Future<Output = PortResult<Vec<OptOut>>> + Send;

    /// Lists the preferences of a tenant, ordered by recipient. Those who want messages again are among them.
    fn list_opt_outs(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<OptOut>>> + Send;

    /// Deletes the address in the preference of a recipient, if there is one. The key and the preference stay.
    fn forget_opt_out_address(
        &self,
        tenant: &TenantId,
        recipient: &RecipientKey,
    ) -> impl Future<Output = PortResult<()>> + Send;
}
