//! Asks the servers of the Model Context Protocol for their tools.

use super::{ASKED_AT_ONCE, InstanceCheck};
use futures::stream::{self, StreamExt};
use recado_domain::config::ConfigDocument;
use recado_domain::ids::ToolId;
use recado_domain::tools::{McpListing, Tool};
use recado_ports::Deps;
use recado_ports::ports::{ToolFailure, ToolLimits};
use recado_ports::time_limit::run_within;
use std::collections::BTreeSet;
use std::time::Duration;

/// Maximum time for a server to list its tools.
const LISTING_TIMEOUT: Duration = Duration::from_secs(15);

/// The answer of a server to the question for its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAnswer {
    /// The server listed its tools.
    Lists {
        /// The names of all its tools.
        tools: Vec<String>,
        /// The names that the configuration allows and the server does not have.
        missing: Vec<String>,
        /// The allowed tools that agents are not offered, since their schemas cannot be used: each with the reason.
        refused: Vec<String>,
    },
    /// The request failed.
    Failed(ToolFailure),
}

/// The check of a tool that is a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCheck {
    /// The tool.
    pub tool: ToolId,
    /// Answer of its server.
    pub answer: ServerAnswer,
}

/// Asks each server that a tool of these instances' agents names.
pub(super) async fn check_tool_servers(
    deps: &Deps,
    configured: &ConfigDocument,
    instances: &[InstanceCheck],
) -> Vec<ServerCheck> {
    let agents: BTreeSet<_> = instances.iter().map(|check| &check.instance.agent).collect();
    let used = configured
        .agents
        .iter()
        .filter(|agent| agents.contains(&agent.id));
    let used: BTreeSet<&ToolId> = used.flat_map(|agent| &agent.tools).collect();
    let tools = configured.tools.iter();
    let asked: Vec<_> = tools
        .filter(|tool| tool.mcp.is_some() && used.contains(&tool.id))
        .map(|tool| check_tool_server(deps, tool))
        .collect();
    stream::iter(asked).buffered(ASKED_AT_ONCE).collect().await
}

async fn check_tool_server(deps: &Deps, tool: &Tool) -> ServerCheck {
    ServerCheck {
        tool: tool.id.clone(),
        answer: list_tools_of_server(deps, tool).await,
    }
}

async fn list_tools_of_server(deps: &Deps, tool: &Tool) -> ServerAnswer {
    let limits = ToolLimits {
        within: tool.time_limit().unsigned_abs().min(LISTING_TIMEOUT),
        private_hosts: deps.settings().private_tools,
    };
    let listing = deps.llm().list_server_tools(tool, limits);
    let listed = run_within(deps.system(), limits.within, listing).await;
    match listed.unwrap_or(Err(ToolFailure::TimedOut)) {
        Ok(listed) => {
            let is_allowed = |name: &String| tool.mcp.iter().any(|server| server.allow.contains(name));
            let told = |one: &McpListing| Some(format!("{}: {}", one.name, one.refused.as_ref()?));
            let allowed = listed.iter().filter(|one| is_allowed(&one.name));
            let refused = allowed.filter_map(told).collect();
            let tools: Vec<String> = listed.into_iter().map(|one| one.name).collect();
            let allowed = tool.mcp.iter().flat_map(|server| &server.allow);
            let missing = allowed.filter(|name| !tools.contains(name)).cloned().collect();
            ServerAnswer::Lists {
                tools,
                missing,
                refused,
            }
        }
        Err(failure) => ServerAnswer::Failed(failure),
    }
}
