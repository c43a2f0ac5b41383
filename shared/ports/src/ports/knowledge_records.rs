use super::{PortResult, WriteOutcome};
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::AgentKnowledge;
use std::future::Future;

/// A store of the records of agents' knowledge. The snapshots that they name are files ([`super::Files`]).
pub trait KnowledgeRecords: Send + Sync {
    /// Returns the record of an agent of this tenant; `None` if it has none. The agent need not be configured.
    fn find_knowledge(
        &self,
        tenant: &TenantId,
        agent: &AgentId,
    ) -> impl Future<Output = PortResult<Option<AgentKnowledge>>> + Send;

    /// Writes a record if the stored one has the revision before it. A record with the revision 1 is written if none is stored.
    fn save_knowledge(
        &self,
        knowledge: &AgentKnowledge,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Lists the records of a tenant, sorted by their agents, at most `limit`.
    fn list_knowledge(
        &self,
        tenant: &TenantId,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<AgentKnowledge>>> + Send;

    /// Deletes the record of an agent, whatever its revision. A record that does not exist is no error.
    fn delete_knowledge(
        &self,
        tenant: &TenantId,
        agent: &AgentId,
    ) -> impl Future<Output = PortResult<()>> + Send;
}
