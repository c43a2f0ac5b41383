//! The scripts of agents: the model follows the step at which the conversation is.

use crate::Deps;
use crate::hooks::turn_part::TurnPart;
use crate::steps::turn::LeasedTurn;
use async_trait::async_trait;
use recado_ports::ports::LlmRequest;

/// The scripts of agents.
#[derive(Debug)]
pub struct Scripts;

#[async_trait]
impl TurnPart for Scripts {
    async fn prepare_request(&self, _deps: &Deps, turn: &mut LeasedTurn<'_>) {
        let step = turn.script_step();
        if let Some(gone) = turn.conversation.features.step.as_ref()
            && step.is_none_or(|step| step.id != *gone)
        {
            tracing::warn!(step = %gone, "the step is gone: the conversation goes on at the first");
        }
    }

    async fn add_to_request(&self, _deps: &Deps, turn: &mut LeasedTurn<'_>, request: &mut LlmRequest) {
        let step = turn.script_step();
        request.instructions.extend(step.map(|step| step.prompt.clone()));
        request.decisions = turn.bound.agent.offered_decisions(step);
    }
}
