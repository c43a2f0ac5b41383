//! Offers the model the agent's tools, and calls those that read.

use crate::called_tool::{Told, await_answer, check_call, find_called_tool, note_call, outcome_of};
use crate::effects::DraftedJournal;
use async_trait::async_trait;
use recado_domain::ids::ToolId;
use recado_domain::tools::{McpListing, TOOL_INSTRUCTIONS, Tool, ToolOutcome};
use recado_pipeline::Deps;
use recado_pipeline::hooks::turn_part::{AnsweredCall, TurnPart};
use recado_pipeline::steps::turn::LeasedTurn;
use recado_pipeline::steps::turn::turn_end::TurnStop;
use recado_ports::ports::{LlmRequest, ModelCall, OfferedTool, ToolFailure, ToolLimits};
use recado_ports::time_limit::run_within;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tools of agents.
#[derive(Debug)]
pub struct ToolsOfAgent;

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
    match await_answer(deps, limits, calls).await {
        Ok(answer) => (ToolOutcome::Answered, answer),
        Err(told) => told,
    }
}

/// Completes the functions of servers with their descriptions and arguments. A function that its server does not list is not
/// offered in this turn. The turn goes on without those of a server that does not answer.
async fn complete_server_functions(deps: &Deps, turn: &mut LeasedTurn<'_>) {
    if turn.bound.tools.iter().all(|tool| tool.mcp_tool.is_none()) {
        return;
    }
    let mut asked: BTreeMap<ToolId, Vec<McpListing>> = BTreeMap::new();
    let mut completed = Vec::with_capacity(turn.bound.tools.len());
    for tool in turn.bound.tools.clone() {
        if tool.mcp_tool.is_none() {
            completed.push(tool);
            continue;
        }
        let server = tool.id.clone();
        let listed = match asked.remove(&server) {
            Some(listed) => listed,
            None => list_tools_of_server(deps, turn, &tool).await,
        };
        completed.extend(tool.complete_mcp_function(&listed));
        asked.insert(server, listed);
    }
    Arc::make_mut(&mut turn.bound).tools = completed;
}

/// Lists the tools of a server; none if it does not answer in time.
async fn list_tools_of_server(deps: &Deps, turn: &LeasedTurn<'_>, tool: &Tool) -> Vec<McpListing> {
    let left = turn.time.left_for_files(deps.system().now(), tool.time_limit());
    let limits = ToolLimits {
        within: left.unsigned_abs(),
        private_hosts: deps.settings().private_tools,
    };
    let listing = deps.llm().list_server_tools(tool, limits);
    let listed = run_within(deps.system(), limits.within, listing).await;
    listed.unwrap_or(Err(ToolFailure::TimedOut)).unwrap_or_else(|failure| {
        tracing::warn!(tool = %tool.id, outcome = outcome_of(&failure).as_str(), "a server did not list its tools: the turn goes on without them");
        Vec::new()
    })
}
