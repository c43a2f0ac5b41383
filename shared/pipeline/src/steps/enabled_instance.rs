//! Instances that may work.

use crate::Deps;
use recado_domain::access::Caller;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::instance::{ChangedInstance, InstanceChange, InstanceState};
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_config_by_id;
use std::sync::Arc;

/// Returns the configuration of an instance that may work. `None`, and a line in the log: the instance is disabled, or no
/// longer configured, and its work waits.
pub async fn find_enabled_instance(deps: &Deps, id: &InstanceId) -> PortResult<Option<Arc<InstanceConfig>>> {
    match find_config_by_id(deps.store(), id).await? {
        Some(bound) if bound.is_enabled() => Ok(Some(bound)),
        Some(_) => {
            tracing::info!(instance_id = %id, "work of a disabled instance waits");
            Ok(None)
        }
        None => {
            tracing::error!(instance_id = %id, "work of an instance that is no longer configured waits");
            Ok(None)
        }
    }
}

/// Returns the same for the work of a tenant. `None` also if another tenant has the instance by now: that sees and sends nothing of this
/// one.
pub async fn find_instance_of(
    deps: &Deps,
    id: &InstanceId,
    tenant: &TenantId,
) -> PortResult<Option<Arc<InstanceConfig>>> {
    let found = find_enabled_instance(deps, id).await?;
    if let Some(other) = found.as_ref().filter(|bound| bound.tenant.id != *tenant) {
        let (instance_id, given_to) = (id, &other.tenant.id);
        tracing::error!(%instance_id, %tenant, %given_to, "work of an instance that another tenant has waits");
        return Ok(None);
    }
    Ok(found)
}

/// Changes the stored state of an instance of which the caller read none.
pub async fn change_unread_state(
    deps: &Deps,
    id: &InstanceId,
    change: &InstanceChange,
) -> PortResult<ChangedInstance> {
    let seen = InstanceState::default();
    deps.store().change_instance_state(id, &seen, change).await
}

/// Returns an instance with its tenant and agent; `None` if it is unknown or outside the caller's scope.
pub async fn find_instance_within(
    deps: &Deps,
    caller: &Caller,
    id: &InstanceId,
) -> PortResult<Option<Arc<InstanceConfig>>> {
    let bound = find_config_by_id(deps.store(), id).await?;
    Ok(bound.filter(|bound| caller.scope.covers(&bound.tenant.id)))
}
