//! Checks the installation with its own keys, for `recado doctor`. Nothing is changed: the providers are asked for their
//! connections, and each model for the least that it answers.

mod models;

use crate::named_secrets::find_missing;
pub use crate::self_check::models::{ModelAnswer, ModelCheck, ModelPurpose};
use crate::self_check::models::{ModelScope, check_models};
use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::alert::MissingSecret;
use recado_domain::config::{ConfigDocument, Instance};
use recado_domain::ids::{InstanceId, ToolId};
use recado_domain::tools::{McpListing, Tool};
use recado_pipeline::Deps;
use recado_ports::ports::{
    ConnectionAnswer, CredentialState, DiskSpace, PortResult, ToolFailure, ToolLimits,
};
use recado_ports::records::configuration::{find_config_by_id, load_configuration};
use recado_ports::records::dead_letters::count_dead_letters;
use recado_ports::time_limit::run_within;
use std::collections::BTreeSet;
use std::time::Duration;

/// Maximum number of open records of each kind that are read, approximately.
const OPEN_WORK_LIMIT: usize = 2_000;

/// Number of providers, and of models, that are asked side by side.
const ASKED_AT_ONCE: usize = 16;

/// The check of an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceCheck {
    /// The instance.
    pub instance: Instance,
    /// State of the key or token with which it sends.
    pub credential: CredentialState,
    /// Answer of its provider; `None` if it was not asked.
    pub connection: Option<ConnectionAnswer>,
}

/// The customers who wait for an answer of the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitingContacts {
    /// Number of conversations.
    pub conversations: u64,
    /// Time since which the one that waits longest has been waiting.
    pub since: Option<Timestamp>,
}

/// The result of all checks.
#[derive(Debug, Clone, PartialEq)]
pub struct SelfCheck {
    /// Time of the checks.
    pub at: Timestamp,
    /// Space on the disk; `None` if the store is not on a disk of its own.
    pub disk: Option<DiskSpace>,
    /// The models that the agents name, those that rewrite questions for them, and the installation's own models.
    pub models: Vec<ModelCheck>,
    /// The servers of the Model Context Protocol that the agents' tools name.
    pub servers: Vec<ServerCheck>,
    /// The secrets that entries name and that are not there.
    pub missing_secrets: Vec<MissingSecret>,
    /// The instances.
    pub instances: Vec<InstanceCheck>,
    /// The customers who wait for the agent.
    pub waiting: WaitingContacts,
    /// Number of dead letters.
    pub dead_letters: u64,
    /// Number of outgoing messages whose outcome is unknown.
    pub unknown: u64,
}

/// Makes all checks within the caller's scope; with `wanted`, those of one instance (`None` if it does not exist there). The
/// disk is the installation's, so a caller who sees one tenant is not told of it. Without `asks_models` no model is
/// asked: not every process has the model's key. Agents that users run and servers of tools are asked everywhere: their secrets are
/// the tenant's.
pub async fn check_installation(
    deps: &Deps,
    caller: &Caller,
    wanted: Option<&InstanceId>,
    asks_models: bool,
) -> PortResult<Option<SelfCheck>> {
    let tenant = caller.scope.tenant();
    let configured = load_configuration(deps.store(), tenant).await?;
    let chosen: Vec<Instance> = match wanted {
        None => configured.enabled_instances().cloned().collect(),
        Some(id) => configured
            .instances
            .iter()
            .filter(|one| one.id == *id)
            .cloned()
            .collect(),
    };
    if wanted.is_some() && chosen.is_empty() {
        return Ok(None);
    }
    let part = (wanted.is_some() || tenant.is_some()).then_some(&chosen[..]);
    let open = deps.store().read_open_work(part, OPEN_WORK_LIMIT).await?;
    let disk = match tenant {
        None => deps.store().read_disk_space().await?,
        Some(_) => None,
    };
    let ours = |instance: &InstanceId| wanted.is_none_or(|id| id == instance);
    let owed = || open.owed.iter().filter(|owed| ours(&owed.instance));
    let unknown = open
        .messages
        .iter()
        .filter(|message| ours(&message.instance) && message.state == "unknown");
    let waiting = WaitingContacts {
        conversations: owed().count() as u64,
        since: owed().map(|owed| owed.since).min(),
    };
    let looks: Vec<_> = chosen
        .into_iter()
        .map(|instance| check_instance(deps, instance))
        .collect();
    let asked_models = ModelScope {
        asks_models,
        is_whole: tenant.is_none(),
    };
    let named = match wanted {
        None => configured.list_named_secrets(),
        Some(_) => Vec::new(),
    };
    let instances: Vec<InstanceCheck> = stream::iter(looks).buffered(ASKED_AT_ONCE).collect().await;
    Ok(Some(SelfCheck {
        at: deps.system().now(),
        disk,
        models: check_models(deps, &configured, &instances, asked_models).await?,
        servers: check_tool_servers(deps, &configured, &instances).await,
        missing_secrets: find_missing(deps, named).await,
        waiting,
        dead_letters: count_dead_letters(deps.store(), tenant).await?.count_of(wanted),
        unknown: unknown.count() as u64,
        instances,
    }))
}

async fn check_instance(deps: &Deps, instance: Instance) -> InstanceCheck {
    let credential = deps.providers().check_credential(&instance).await;
    let connection = match (&credential, find_config_by_id(deps.store(), &instance.id).await) {
        (CredentialState::Present, Ok(Some(bound))) => Some(deps.providers().query_connection(&bound).await),
        _ => None,
    };
    InstanceCheck {
        instance,
        credential,
        connection,
    }
}

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
async fn check_tool_servers(
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
        .map(|tool| async move {
            ServerCheck {
                tool: tool.id.clone(),
                answer: list_tools_of_server(deps, tool).await,
            }
        })
        .collect();
    stream::iter(asked).buffered(ASKED_AT_ONCE).collect().await
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
