use super::{Page, PageRequest, PortResult};
use jiff::Timestamp;
use recado_domain::audit::{AuditAction, AuditEntry};
use recado_domain::ids::{TenantId, TokenName};
use std::future::Future;

/// Conditions for a list of audit entries. A field that is `None` sets no condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Tenant whose records the entries are about.
    pub tenant: Option<TenantId>,
    /// Name of the token.
    pub actor: Option<TokenName>,
    /// The action.
    pub action: Option<AuditAction>,
    /// Earliest time (included).
    pub since: Option<Timestamp>,
    /// Time before which it was done (not included).
    pub until: Option<Timestamp>,
}

impl AuditFilter {
    /// Returns `true` if `entry` meets all conditions.
    pub fn matches_entry(&self, entry: &AuditEntry) -> bool {
        self.tenant
            .as_ref()
            .is_none_or(|tenant| Some(tenant) == entry.tenant.as_ref())
            && self.actor.as_ref().is_none_or(|actor| *actor == entry.actor)
            && self.action.is_none_or(|action| action == entry.action)
            && self.since.is_none_or(|since| entry.at >= since)
            && self.until.is_none_or(|until| entry.at < until)
    }
}

/// A store of the audit. Entries can be appended and listed; there is no way to change or delete one before it
/// expires, but for what the configuration of a removed tenant held ([`super::TenantRecords::delete_tenant_records`]).
pub trait Audit: Send + Sync {
    /// Appends entries, which are kept until `expires`. A stored entry with the same time and id is left as it is.
    fn append_audit(
        &self,
        entries: &[AuditEntry],
        expires: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Lists the entries that match `filter`, the newest first. Expired entries are left out.
    fn list_audit(
        &self,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<AuditEntry>>> + Send;
}
