//! Completes the functions of servers of the Model Context Protocol with what these tell of them.

use super::called_tool::outcome_of;
use crate::steps::turn::LeasedTurn;
use recado_domain::ids::ToolId;
use recado_domain::tools::{McpListing, Tool};
use recado_ports::Deps;
use recado_ports::ports::{ToolFailure, ToolLimits};
use recado_ports::time_limit::run_within;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Completes the functions of servers with their descriptions and arguments. A function that its server does not list is not
/// offered in this turn. The turn goes on without those of a server that does not answer.
pub(super) async fn complete_server_functions(deps: &Deps, turn: &mut LeasedTurn<'_>) {
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
