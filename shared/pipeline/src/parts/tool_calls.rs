//! Offers the model the agent's tools, and calls those that read.

use super::called_tool::{Told, check_call, find_called_tool, note_call, outcome_of};
use super::server_tools::complete_server_functions;
use crate::hooks::turn_part::{AnsweredCall, TurnPart};
use crate::steps::effects::DraftedJournal;
use crate::steps::turn::LeasedTurn;
use crate::steps::turn::turn_end::TurnStop;
use async_trait::async_trait;
use recado_domain::tools::{TOOL_INSTRUCTIONS, Tool, ToolOutcome};
use recado_ports::Deps;
use recado_ports::ports::{LlmRequest, ModelCall, OfferedTool, ToolFailure, ToolLimits};
use recado_ports::time_limit::run_within;

/// The tools of agents.
pub(crate) struct ToolsOfAgent;

#[async_trait]
impl TurnPart for ToolsOfAgent {
    async fn prepare_request(&self, deps: &Deps, turn: &mut LeasedTurn<'_>) {
        complete_server_functions(deps, turn).await;
    }

    async fn add_to_request(&self, _deps: &Deps, turn: &mut LeasedTurn<'_>, request: &mut LlmRequest) {
        request.tools = list_tools(&turn.bound.tools);
        let journal = turn.state.find::<DraftedJournal>();
        let told = journal.and_then(|drafted| drafted.journal.record.describe_entries());
        // What an earlier effect returned stands between the same marks.
        if !turn.bound.tools.is_empty() || told.is_some() {
            request.instructions.push(TOOL_INSTRUCTIONS.to_owned());
        }
    }

    async fn answer_call(
        &self,
        deps: &Deps,
        turn: &mut LeasedTurn<'_>,
        call: &ModelCall,
    ) -> Result<Option<AnsweredCall>, TurnStop> {
        let is_own = |tool: &Tool| !tool.acts() && tool.function.is_none();
        let Some(tool) = find_called_tool(turn, call, is_own) else {
            return Ok(None);
        };
        let began_at = deps.system().now();
        let told = match check_call(deps, turn, &tool, call).await {
            Ok(limits) => read_tool(deps, &tool, call, limits).await,
            Err(refused) => refused,
        };
        Ok(Some(note_call(deps, turn, (&tool, call), began_at, told)))
    }
}

/// Lists the agent's tools for the model, sorted by their names: what the model caches of a request does not change.
fn list_tools(tools: &[Tool]) -> Vec<OfferedTool> {
    let mut offered: Vec<OfferedTool> = tools
        .iter()
        .map(|tool| OfferedTool {
            name: tool.model_name().to_owned(),
            description: tool.description.clone(),
            arguments: tool.arguments.clone(),
        })
        .collect();
    offered.sort_by(|a, b| a.name.cmp(&b.name));
    offered
}

/// Calls a tool that reads. Returns the outcome, and the words for the model.
async fn read_tool(deps: &Deps, tool: &Tool, call: &ModelCall, limits: ToolLimits) -> Told {
    let calls = deps.llm().call_tool(tool, &call.arguments, limits);
    let answer = run_within(deps.system(), limits.within, calls).await;
    match answer.unwrap_or(Err(ToolFailure::TimedOut)) {
        Ok(answer) => (ToolOutcome::Answered, answer),
        Err(failure) => (outcome_of(&failure), failure.to_string()),
    }
}
