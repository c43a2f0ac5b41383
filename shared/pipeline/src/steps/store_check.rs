//! Checks that the store accepts writes.

use crate::Deps;
use crate::steps::enabled_instance::change_unread_state;
use jiff::Timestamp;
use recado_domain::config::RESERVED_INSTANCE;
use recado_domain::ids::InstanceId;
use recado_domain::instance::InstanceChange;
use recado_ports::ports::{PortError, PortResult, QueueDepths};

/// Writes a record of a reserved instance, to check that the store accepts writes, also those of new events.
pub async fn check_store_writes(deps: &Deps, depths: &dyn QueueDepths, at: Timestamp) -> PortResult<()> {
    let nobody = InstanceId::parse(RESERVED_INSTANCE);
    let nobody = nobody.map_err(|error| PortError::invalid("instance id", error))?;
    let confirm = InstanceChange::Confirm(at);
    change_unread_state(deps, &nobody, &confirm).await?;
    depths.prove_intake_write().await
}
