//! Begins what is done with an instance at its provider.

use super::{ConfigureError, find_entry};
use crate::steps::audit::audit_action;
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::config::Instance;
use recado_ports::Deps;

/// Returns the instance within the caller's scope, after what is about to be done at its provider is audited.
pub async fn begin_onboarding(
    deps: &Deps,
    caller: &Caller,
    id: &str,
    action: AuditAction,
) -> Result<Instance, ConfigureError> {
    let instance: Instance = find_entry(deps, caller, id).await?;
    let begun = AuditedAction::on_object(action, Some(&instance.tenant), "instance", instance.id.as_str());
    audit_action(deps, caller, begun).await?;
    tracing::info!(by = %caller.name, instance_id = %instance.id, action = action.as_str(), "at the provider");
    Ok(instance)
}
