//! The records of agents' knowledge, those of a tenant in one partition.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{self, TableKey};
use super::table::RecordQuery;
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{AgentKnowledge, SnapshotName};
use recado_ports::ports::{KnowledgeRecords, PortResult, System, WriteOutcome};

/// Finds, among the items of a configuration, the name of the present snapshot of the agent's knowledge.
pub(super) fn find_snapshot_name(
    what: &'static str,
    tenant: &TenantId,
    found: &[Item],
) -> Option<SnapshotName> {
    let pk = keys::knowledge_pk(tenant);
    let stored = found
        .iter()
        .find(|item| item::get_string(item, "pk") == Some(pk.as_str()));
    // Without a readable record the agent answers without knowledge, as if it had none.
    let known: AgentKnowledge = item::keep_readable(item::decode_record(what, stored?))?;
    known.snapshot
}

impl<A: System> KnowledgeRecords for DynamoStore<A> {
    async fn find_knowledge(&self, tenant: &TenantId, agent: &AgentId) -> PortResult<Option<AgentKnowledge>> {
        const WHAT: &str = "reading an agent's knowledge";
        let key = TableKey::for_knowledge(tenant, agent);
        let found = self.table.get_record(WHAT, key).await?;
        found.map(|item| item::decode_record(WHAT, &item)).transpose()
    }

    async fn save_knowledge(&self, knowledge: &AgentKnowledge) -> PortResult<WriteOutcome> {
        const WHAT: &str = "writing an agent's knowledge";
        let record = item::encode_record(WHAT, knowledge)?;
        let key = TableKey::for_knowledge(&knowledge.tenant, &knowledge.agent);
        let before = Expression::follows_revision("rev", knowledge.rev);
        let put = self.table.put_record(WHAT, key.into_item(record), Some(before));
        let put = put.await?;
        self.forget_configuration();
        Ok(if put.is_ok() {
            WriteOutcome::Written
        } else {
            WriteOutcome::Conflict
        })
    }

    async fn list_knowledge(&self, tenant: &TenantId, limit: usize) -> PortResult<Vec<AgentKnowledge>> {
        const WHAT: &str = "listing the knowledge of a tenant's agents";
        let query = RecordQuery::for_partition(keys::knowledge_pk(tenant), None, Some(limit));
        let found = self.table.query_records(WHAT, &query).await?;
        Ok(item::decode_readable(WHAT, &found))
    }

    async fn delete_knowledge(&self, tenant: &TenantId, agent: &AgentId) -> PortResult<()> {
        let key = TableKey::for_knowledge(tenant, agent);
        self.delete_any("deleting an agent's knowledge", key).await?;
        self.forget_configuration();
        Ok(())
    }
}
