//! Lists the audit: who did what. Each feature writes the entries of what it does.

pub mod audit_routes;

use recado_domain::access::Caller;
use recado_domain::audit::AuditEntry;
use recado_pipeline::Deps;
use recado_ports::ports::{Page, PageRequest, PortResult};
use recado_ports::records::audit::{self, AuditFilter};

/// Lists the entries within the caller's scope that match `filter`, the newest first.
pub async fn list_audit(
    deps: &Deps,
    caller: &Caller,
    mut filter: AuditFilter,
    page: &PageRequest,
) -> PortResult<Page<AuditEntry>> {
    if filter
        .tenant
        .as_ref()
        .is_some_and(|tenant| !caller.scope.covers(tenant))
    {
        return Ok(Page::empty());
    }
    filter.tenant = caller.scope.tenant().cloned().or(filter.tenant);
    audit::list_audit(deps.store(), &filter, page).await
}
