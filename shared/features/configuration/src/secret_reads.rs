//! Notes in the audit who reads webhook secrets.

use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::config::Instance;
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_action;
use recado_ports::ports::PortResult;

/// Notes that `caller` reads the webhook secrets of its instances.
pub async fn note_secrets_read(deps: &Deps, caller: &Caller) -> PortResult<()> {
    let (kind, object) = match caller.scope.tenant() {
        Some(tenant) => ("tenant", tenant.as_str()),
        None => ("installation", "all"),
    };
    let read = AuditAction::WebhookSecretsRead.on_object(caller.scope.tenant(), kind, object);
    audit_action(deps, caller, read).await
}

/// Notes that `caller` reads the webhook secret of one instance.
pub async fn note_secret_read(deps: &Deps, caller: &Caller, instance: &Instance) -> PortResult<()> {
    let id = instance.id.as_str();
    let read = AuditAction::WebhookSecretsRead.on_object(Some(&instance.tenant), "instance", id);
    audit_action(deps, caller, read).await
}
