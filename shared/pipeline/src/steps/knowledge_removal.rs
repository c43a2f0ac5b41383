//! Deletes the knowledge of an agent: the files of its snapshots and its indexes of vectors, then the record that names them.

use crate::steps::audit::audit_action;
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::counting::count_things;
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::AgentKnowledge;
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::knowledge;

/// Deletes the knowledge of an agent that is about to be removed. If there is any, the audit gets an entry. The agent goes after it:
/// a removal that was cut off is asked for again, as long as there is an agent to name.
pub(crate) async fn remove_agent_knowledge(
    deps: &Deps,
    caller: &Caller,
    tenant: &TenantId,
    agent: &AgentId,
) -> PortResult<()> {
    let known = match knowledge::find_knowledge(deps.store(), tenant, agent).await {
        Err(error) if !error.is_retryable() => {
            tracing::error!(%agent, %error, "what an agent knows cannot be read: its record is deleted, and its files stay");
            return knowledge::delete_knowledge(deps.store(), tenant, agent).await;
        }
        found => found?,
    };
    let Some(known) = known.map(|known| known.record) else {
        return Ok(());
    };
    let action = AuditAction::KnowledgeChanged;
    let done = AuditedAction::on_object(action, Some(tenant), "agent", agent.as_str());
    let told = count_things(known.sources as u64, "source");
    audit_action(
        deps,
        caller,
        done.with_result(format!("removed with the agent: {told}")),
    )
    .await?;
    delete_knowledge(deps, &known).await
}

/// Deletes the files and the indexes of vectors, and then the record. A deletion that was cut off can be repeated. Without a store of
/// vectors, as after a move to another installation, the agent's indexes are not this installation's.
pub(crate) async fn delete_knowledge(deps: &Deps, known: &AgentKnowledge) -> PortResult<()> {
    for key in known.list_file_keys() {
        deps.queues().delete_file(&key).await?;
    }
    for index in &known.vector_indexes {
        if deps.queues().has_vector_store() {
            Box::pin(deps.queues().delete_vector_index(index)).await?;
        } else {
            let (agent, index) = (&known.agent, index.as_str());
            tracing::warn!(%agent, index, "no store of vectors is set up: an index of the agent stays where it is");
        }
    }
    knowledge::delete_knowledge(deps.store(), &known.tenant, &known.agent).await
}
