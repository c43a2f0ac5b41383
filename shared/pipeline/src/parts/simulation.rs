//! Simulated instances: the simulated model answers, and no real one is asked.

use crate::Deps;
use crate::hooks::turn_part::TurnPart;
use crate::steps::turn::LeasedTurn;
use async_trait::async_trait;
use recado_ports::ports::LlmRequest;

/// The simulation of instances.
#[derive(Debug)]
pub struct SimulatedInstances;

#[async_trait]
impl TurnPart for SimulatedInstances {
    async fn add_to_request(&self, deps: &Deps, turn: &mut LeasedTurn<'_>, request: &mut LlmRequest) {
        request.simulated = deps.providers().is_simulated(&turn.bound.instance).await;
    }
}
