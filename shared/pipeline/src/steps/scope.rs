//! Finds records that a request names, within the scope of its caller. A record outside of it counts as unknown.

use recado_domain::access::Caller;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::InstanceId;
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_config_by_id;
use std::sync::Arc;

/// Returns an instance with its tenant and agent; `None` if it is unknown or outside the caller's scope.
pub(crate) async fn find_instance_within(
    deps: &Deps,
    caller: &Caller,
    id: &InstanceId,
) -> PortResult<Option<Arc<InstanceConfig>>> {
    let bound = find_config_by_id(deps.store(), id).await?;
    Ok(bound.filter(|bound| caller.scope.covers(&bound.tenant.id)))
}
