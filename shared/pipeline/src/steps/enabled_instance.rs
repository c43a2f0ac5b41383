//! Instances that may work.

use crate::Deps;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::InstanceId;
use recado_ports::ports::{ConfigurationStore, PortResult};
use std::sync::Arc;

/// Returns the configuration of an instance that may work. `None`, and a line in the log: the instance is disabled, or no
/// longer configured, and its work waits.
pub(crate) async fn find_enabled_instance(
    deps: &impl Deps,
    id: &InstanceId,
) -> PortResult<Option<Arc<InstanceConfig>>> {
    match deps.store().instance_config(id).await? {
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
