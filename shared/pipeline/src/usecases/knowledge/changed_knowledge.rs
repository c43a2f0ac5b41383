//! The knowledge that a request changes, as long as its agent is the one of the beginning of the request.

use super::{KnowledgeError, find_tenant, read_snapshot_of};
use recado_domain::access::Caller;
use recado_domain::ids::{AgentId, Nonce, TenantId};
use recado_domain::knowledge::{AgentKnowledge, KnowledgeSnapshot};
use recado_ports::Deps;
use recado_ports::ports::{PortError, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::knowledge::{delete_knowledge, find_knowledge};
use recado_ports::table::{Versioned, write_record};

/// The knowledge of an agent that a request changes. An agent that is removed and made again under its name has another knowledge.
#[derive(Debug, Clone)]
pub(super) struct ChangedKnowledge {
    pub(super) tenant: TenantId,
    pub(super) agent: AgentId,
    born: Option<Nonce>,
}

impl ChangedKnowledge {
    /// Finds the knowledge of a configured agent. An agent without a record gets one: `born` tells the agent from one that is made
    /// again.
    pub(super) async fn begin(deps: &Deps, caller: &Caller, agent: &AgentId) -> Result<Self, KnowledgeError> {
        let tenant = find_tenant(deps, caller, agent).await?;
        let known = match find_knowledge(deps.store(), &tenant, agent).await? {
            Some(known) => known.record,
            None => make_record(deps, caller, &tenant, agent).await?,
        };
        Ok(Self {
            born: known.born,
            tenant,
            agent: agent.clone(),
        })
    }

    /// Returns the record. [`KnowledgeError::NoAgent`]: the agent was removed since, and perhaps made again.
    pub(super) async fn find_record(&self, deps: &Deps) -> Result<Versioned<AgentKnowledge>, KnowledgeError> {
        let known = find_knowledge(deps.store(), &self.tenant, &self.agent).await?;
        let same = known.filter(|known| known.record.born == self.born);
        same.ok_or(KnowledgeError::NoAgent)
    }

    /// Reads the present snapshot; the empty one before the first.
    pub(super) async fn read_present(&self, deps: &Deps) -> Result<KnowledgeSnapshot, KnowledgeError> {
        read_snapshot_of(deps, &self.find_record(deps).await?.record).await
    }
}

/// Makes the record of an agent that has none. An agent that was removed until then gets none: that removal found nothing to delete.
async fn make_record(
    deps: &Deps,
    caller: &Caller,
    tenant: &TenantId,
    agent: &AgentId,
) -> Result<AgentKnowledge, KnowledgeError> {
    let born = generate_nonce(deps.system());
    let mut known = Versioned::new(AgentKnowledge::begin(tenant.clone(), agent.clone(), born));
    if write_record(deps.store(), &mut known).await? == WriteOutcome::Conflict {
        // Another request made it meanwhile.
        let made = find_knowledge(deps.store(), tenant, agent).await?;
        let made = made.ok_or_else(|| PortError::contended("knowledge"))?;
        return Ok(made.record);
    }
    match find_tenant(deps, caller, agent).await {
        Ok(owner) if owner == *tenant => Ok(known.record),
        Ok(_) | Err(KnowledgeError::NoAgent) => {
            delete_knowledge(deps.store(), tenant, agent).await?;
            Err(KnowledgeError::NoAgent)
        }
        Err(error) => Err(error),
    }
}
