//! Deletes the knowledge of an agent: the files of its snapshots, then the record that names them.

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

/// Deletes the files, and then the record. A deletion that was cut off can be repeated.
pub(crate) async fn delete_knowledge(deps: &Deps, known: &AgentKnowledge) -> PortResult<()> {
    for key in known.list_file_keys() {
        deps.queues().delete_file(&key).await?;
    }
    knowledge::delete_knowledge(deps.store(), &known.tenant, &known.agent).await
}
