//! Deletes the knowledge of an agent: the files of its snapshots, then the record that names them.

use crate::Deps;
use crate::ports::{Files, KnowledgeRecords, PortResult};
use recado_domain::knowledge::AgentKnowledge;

/// Deletes the files, and then the record. A deletion that was cut off can be repeated.
pub(crate) async fn delete_knowledge(deps: &impl Deps, knowledge: &AgentKnowledge) -> PortResult<()> {
    for key in knowledge.list_file_keys() {
        deps.queues().delete_file(&key).await?;
    }
    deps.store()
        .delete_knowledge(&knowledge.tenant, &knowledge.agent)
        .await
}
