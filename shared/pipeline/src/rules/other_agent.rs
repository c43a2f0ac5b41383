//! Notes with the instance that another program holds threads of its contacts.

use crate::Deps;
use crate::hooks::inbound_rule::InboundRule;
use crate::steps::enabled_instance::change_unread_state;
use crate::steps::inbound_arrival::InboundArrival;
use async_trait::async_trait;
use recado_domain::instance::InstanceChange;
use recado_domain::thread_hold::ThreadControl;
use recado_ports::ports::PortResult;

/// Notes with the instance that another program answers its contacts, at most once a day.
///
/// Test: `tests/kit/tests/use_cases/other_agents.rs#what_is_said_to_another_program_is_stored_and_the_agent_is_silent`.
#[derive(Debug)]
pub struct OtherAgentRule;

#[async_trait]
impl InboundRule for OtherAgentRule {
    async fn note_arrival(&self, deps: &Deps, arrival: &InboundArrival<'_>) -> PortResult<()> {
        if !matches!(arrival.inbound.thread, Some(ThreadControl::Held(_))) {
            return Ok(());
        }
        let instance = &arrival.bound.instance.id;
        let seen = InstanceChange::OtherAgentSeen(deps.system().now());
        if change_unread_state(deps, instance, &seen).await?.done {
            tracing::warn!(instance_id = %instance, "another program answers contacts of this number");
        }
        Ok(())
    }
}
