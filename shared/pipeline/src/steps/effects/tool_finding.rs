//! Finds the tool of an effect after its turn is over.

use recado_domain::config::ConfigNames;
use recado_domain::effects::ToolName;
use recado_domain::ids::{CalendarId, TenantId};
use recado_domain::tools::Tool;
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_named_entries;
use std::collections::BTreeSet;

/// Returns the tool of the tenant's agent that has this name. `None`: it was removed or renamed, or the agent has it no more.
pub(crate) async fn find_tool_of_effect(
    deps: &Deps,
    tenant: &TenantId,
    named: &ToolName,
) -> PortResult<Option<Tool>> {
    let agents = ConfigNames {
        agents: [named.agent.clone()].into(),
        ..ConfigNames::default()
    };
    let found = find_named_entries(deps.store(), &agents).await?;
    let mut agents = found.agents.into_iter();
    let Some(agent) = agents.find(|agent| agent.id == named.agent && agent.tenant == *tenant) else {
        return Ok(None);
    };
    let wanted = ConfigNames {
        tenants: [tenant.clone()].into(),
        tools: agent.tools.into_iter().collect(),
        ..ConfigNames::default()
    };
    let mut found = find_named_entries(deps.store(), &wanted).await?;
    let Some(owner) = found.tenants.pop() else {
        return Ok(None);
    };
    let calendars: BTreeSet<CalendarId> = found
        .tools
        .iter()
        .filter_map(|tool| tool.calendar.clone())
        .collect();
    let calendars = if calendars.is_empty() {
        Vec::new()
    } else {
        let wanted = ConfigNames {
            calendars,
            ..ConfigNames::default()
        };
        find_named_entries(deps.store(), &wanted).await?.calendars
    };
    let mut functions = found
        .tools
        .into_iter()
        .flat_map(|tool| tool.into_functions(&calendars, &owner));
    let is_it = |tool: &Tool| tool.tenant == *tenant && tool.model_name() == named.name && tool.acts();
    Ok(functions.find(is_it))
}
