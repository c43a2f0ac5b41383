//! Joins an instance with all that its messages need of the configuration.

use super::{build_key, key_of_external, parse_entry_item, read_entry_item};
use crate::ports::{InstanceName, Instances, PortError, PortResult};
use crate::table::{Key, Record, StoredItem, Table};
use crate::unreadable_record::keep_readable;
use recado_domain::config::{Agent, Calendar, ConfigEntry, EntryRef, Instance, InstanceConfig, Tenant};
use recado_domain::ids::{CalendarId, ExternalId, InstanceId};
use recado_domain::knowledge::AgentKnowledge;
use recado_domain::provider::Provider;
use recado_domain::tools::Tool;
use std::collections::BTreeSet;
use std::sync::Arc;

const WHAT: &str = "the configuration of an instance";

impl InstanceName {
    /// Returns the key under which one read finds the instance.
    pub fn build_key(&self) -> Key {
        match self {
            Self::Id(id) => build_key(&EntryRef::Instance(id.clone())),
            Self::External(provider, external) => key_of_external(*provider, external),
        }
    }
}

/// Returns the configuration of the instance with the id `id`, as [`Instances::read_instance_config`] does.
pub async fn find_config_by_id(
    store: &dyn Instances,
    id: &InstanceId,
) -> PortResult<Option<Arc<InstanceConfig>>> {
    store.read_instance_config(InstanceName::Id(id.clone())).await
}

/// Returns the configuration of the instance that `provider` calls `external`, as [`Instances::read_instance_config`] does.
pub async fn find_config_by_external(
    store: &dyn Instances,
    provider: Provider,
    external: &ExternalId,
) -> PortResult<Option<Arc<InstanceConfig>>> {
    let name = InstanceName::External(provider, external.clone());
    store.read_instance_config(name).await
}

/// Reads an instance with its tenant, its agent, the agent's functions and the name of its knowledge. `None`: the instance
/// is not configured. It takes two requests; an agent with tools one more, and tools with calendars another.
pub async fn join_instance_config(
    table: &dyn Table,
    name: &InstanceName,
) -> PortResult<Option<InstanceConfig>> {
    let Some(found) = table.get(&name.build_key()).await? else {
        return Ok(None);
    };
    let instance = parse_as::<Instance>(&found)?;
    let tenant = build_key(&EntryRef::Tenant(instance.tenant.clone()));
    let agent = build_key(&EntryRef::Agent(instance.agent.clone()));
    let knowledge = Key::new(
        AgentKnowledge::KIND,
        Some(&instance.tenant),
        instance.agent.as_str(),
    );
    let keys = [tenant, agent, knowledge];
    let found = table.get_many(&keys).await?;
    let [tenant, agent, knowledge] = keys.map(|key| found.iter().find(|item| item.key == key));
    let (Some(tenant), Some(agent)) = (tenant, agent) else {
        let why = "the instance's tenant or agent is not there yet";
        return Err(PortError::unavailable(WHAT, why));
    };
    let (tenant, agent) = (parse_as::<Tenant>(tenant)?, parse_as::<Agent>(agent)?);
    // Without a readable record the agent answers without knowledge, as if it had none.
    let knowledge = knowledge.and_then(|item| keep_readable(AgentKnowledge::from_body(&item.body)));
    Ok(Some(InstanceConfig {
        tools: find_functions(table, &tenant, &agent).await?,
        knowledge: knowledge.and_then(|known| known.snapshot),
        instance,
        tenant,
        agent,
    }))
}

fn parse_as<T: ConfigEntry>(item: &StoredItem) -> PortResult<T> {
    let entry = T::from_entry(parse_entry_item(item)?);
    entry.ok_or_else(|| PortError::invalid(WHAT, "an entry of another kind"))
}

/// Reads the tools that an agent names, as functions that its model may call. Their order is that of the tools' ids.
async fn find_functions(table: &dyn Table, tenant: &Tenant, agent: &Agent) -> PortResult<Vec<Tool>> {
    let named: Vec<EntryRef> = agent.tools.iter().cloned().map(EntryRef::Tool).collect();
    let tools: Vec<Tool> = find_all(table, &named).await?;
    let calendars: BTreeSet<CalendarId> = tools.iter().filter_map(|tool| tool.calendar.clone()).collect();
    let named: Vec<EntryRef> = calendars.into_iter().map(EntryRef::Calendar).collect();
    let calendars: Vec<Calendar> = find_all(table, &named).await?;
    let functions = tools
        .into_iter()
        .flat_map(|tool| tool.into_functions(&calendars, tenant));
    Ok(functions.collect())
}

/// Reads those of these entries that exist and can be read, sorted by their ids. Without one the agent answers as if there were none.
async fn find_all<T: ConfigEntry>(table: &dyn Table, names: &[EntryRef]) -> PortResult<Vec<T>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<Key> = names.iter().map(build_key).collect();
    let mut found = table.get_many(&keys).await?;
    found.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(found
        .iter()
        .filter_map(read_entry_item)
        .filter_map(T::from_entry)
        .collect())
}
