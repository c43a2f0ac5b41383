//! Finds the tool of an effect after its turn is over.

use recado_domain::config::{ConfigNames, EntryRef};
use recado_domain::effects::ToolName;
use recado_domain::ids::TenantId;
use recado_domain::tools::Tool;
use recado_pipeline::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_named_entries;

/// Returns the tool of the tenant's agent that has this name. `None`: it was removed or renamed, or the agent has it no more.
pub async fn find_tool_of_effect(
    deps: &Deps,
    tenant: &TenantId,
    named: &ToolName,
) -> PortResult<Option<Tool>> {
    let agents = ConfigNames::of([EntryRef::Agent(named.agent.clone())]);
    let found = find_named_entries(deps.store(), &agents).await?;
    let mut agents = found.agents.into_iter();
    let Some(agent) = agents.find(|agent| agent.id == named.agent && agent.tenant == *tenant) else {
        return Ok(None);
    };
    let tools = agent.tools.into_iter().map(EntryRef::Tool);
    let wanted = ConfigNames::of(tools.chain([EntryRef::Tenant(tenant.clone())]));
    let mut found = find_named_entries(deps.store(), &wanted).await?;
    let Some(owner) = found.tenants.pop() else {
        return Ok(None);
    };
    let calendars = found.tools.iter().filter_map(|tool| tool.calendar.clone());
    let wanted = ConfigNames::of(calendars.map(EntryRef::Calendar));
    let calendars = find_named_entries(deps.store(), &wanted).await?.calendars;
    let mut functions = found
        .tools
        .into_iter()
        .flat_map(|tool| tool.into_functions(&calendars, &owner));
    let is_it = |tool: &Tool| tool.tenant == *tenant && tool.model_name() == named.name && tool.acts();
    Ok(functions.find(is_it))
}
