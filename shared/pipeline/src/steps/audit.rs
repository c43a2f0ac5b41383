//! Writes the audit. An entry is written before the change that it tells of: without the entry there is no change.

use crate::Deps;
use recado_domain::access::Caller;
use recado_domain::audit::{AuditEntry, AuditedAction};
use recado_domain::millis::add_duration;
use recado_ports::ports::PortResult;
use recado_ports::random_id::generate_nonce;
use recado_ports::records::audit::append_audit;

/// Appends what `caller` is about to do to the audit.
pub async fn audit_actions(
    deps: &Deps,
    caller: &Caller,
    actions: impl IntoIterator<Item = AuditedAction>,
) -> PortResult<()> {
    let now = deps.system().now();
    let entry = |done| AuditEntry::of_caller(generate_nonce(deps.system()), now, caller, done);
    let entries: Vec<AuditEntry> = actions.into_iter().map(entry).collect();
    if entries.is_empty() {
        return Ok(());
    }
    let expires = add_duration(now, deps.settings().audit_ttl);
    append_audit(deps.store(), &entries, expires).await
}

/// Appends one action of `caller` to the audit.
pub async fn audit_action(deps: &Deps, caller: &Caller, done: AuditedAction) -> PortResult<()> {
    audit_actions(deps, caller, [done]).await
}
