//! Finds the tool of an effect after its turn is over.

use crate::Deps;
use crate::ports::{ConfigurationStore, PortResult};
use recado_domain::config::ConfigNames;
use recado_domain::effects::ToolName;
use recado_domain::ids::TenantId;
use recado_domain::tools::Tool;

/// Returns the tool of the tenant's agent that has this name. `None`: it was removed or renamed, or the agent has it no more.
pub(crate) async fn find_tool_of_effect(
    deps: &impl Deps,
    tenant: &TenantId,
    named: &ToolName,
) -> PortResult<Option<Tool>> {
    let agents = ConfigNames {
        agents: [named.agent.clone()].into(),
        ..ConfigNames::default()
    };
    let found = deps.store().read_named(&agents).await?;
    let mut agents = found.agents.into_iter();
    let Some(agent) = agents.find(|agent| agent.id == named.agent && agent.tenant == *tenant) else {
        return Ok(None);
    };
    let tools = ConfigNames {
        tools: agent.tools.into_iter().collect(),
        ..ConfigNames::default()
    };
    let found = deps.store().read_named(&tools).await?;
    let is_it = |tool: &Tool| tool.tenant == *tenant && tool.model_name() == named.name && tool.acts();
    Ok(found.tools.into_iter().find(is_it))
}
