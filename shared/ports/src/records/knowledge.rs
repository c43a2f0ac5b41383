//! The records of agents' knowledge. The snapshots that they name are files ([`crate::ports::Files`]).

use crate::ports::{PageRequest, PortResult};
use crate::table::{
    Partition, Query, Record, Table, Versioned, delete_record, find_with_version, list_records,
};
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::AgentKnowledge;
use recado_domain::moving::MovedFile;

impl Record for AgentKnowledge {
    const KIND: &'static str = "knowledge";
    // The configuration of an instance names the snapshot of its agent.
    const IS_CONFIGURATION: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.agent.as_str().to_owned()
    }

    fn list_files(&self) -> Vec<MovedFile> {
        let keys = self.list_file_keys().into_iter();
        keys.map(|key| MovedFile::new_file(key, None)).collect()
    }
}

/// Returns the record of an agent of this tenant; `None` if it has none. The agent need not be configured.
pub async fn find_knowledge(
    table: &dyn Table,
    tenant: &TenantId,
    agent: &AgentId,
) -> PortResult<Option<Versioned<AgentKnowledge>>> {
    find_with_version(table, Some(tenant), agent.as_str()).await
}

/// Lists the records of a tenant, sorted by their agents, at most `limit`.
pub async fn list_knowledge(
    table: &dyn Table,
    tenant: &TenantId,
    limit: usize,
) -> PortResult<Vec<AgentKnowledge>> {
    let own = Partition::new(AgentKnowledge::KIND, Some(tenant));
    let page = PageRequest::first(limit);
    let found = list_records(table, Query::new(own, limit), &page, |_| true).await?;
    Ok(found.items)
}

/// Deletes the record of an agent, whatever it is. A record that does not exist is no error.
pub async fn delete_knowledge(table: &dyn Table, tenant: &TenantId, agent: &AgentId) -> PortResult<()> {
    delete_record::<AgentKnowledge>(table, Some(tenant), agent.as_str()).await
}
