//! Writes the next snapshot, and then makes it the present one.

use crate::{KnowledgeError, find_tenant, read_snapshot_of};
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::ids::{AgentId, Nonce, TenantId};
use recado_domain::knowledge::{AgentKnowledge, KnowledgeSnapshot, MadeVectors, SnapshotName, VectorGap};
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_action;
use recado_ports::ports::{FileBytes, FileError, PortError, WriteOutcome};
use recado_ports::random_id::{generate_nonce, generate_random_bits};
use recado_ports::records::knowledge::{delete_knowledge, find_knowledge};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};

/// The MIME type of a snapshot's file.
const MIME_TYPE: &str = "application/octet-stream";

/// Notes in the audit what a caller is about to change.
pub(super) async fn audit_change(
    deps: &Deps,
    caller: &Caller,
    knowledge: &ChangedKnowledge,
    change: String,
) -> Result<(), KnowledgeError> {
    let (tenant, agent) = (Some(&knowledge.tenant), knowledge.agent.as_str());
    let done = AuditAction::KnowledgeChanged.on_object(tenant, "agent", agent);
    Ok(audit_action(deps, caller, done.with_result(change)).await?)
}

/// A snapshot with a change, and the reason why it did not take new vectors.
type ChangedSnapshot = (KnowledgeSnapshot, Option<VectorGap>);

/// Writes the snapshot that `change` makes of the present one, and makes it the present one. The vectors that were made are added, and
/// the present one was read already. If another writer was faster, the change is made of that writer's snapshot. So of two writers at once nothing is lost.
/// Returns what was written, and why vectors were not. Of an agent that was removed meanwhile nothing is written.
pub(super) async fn change_snapshot(
    deps: &Deps,
    knowledge: &ChangedKnowledge,
    present: KnowledgeSnapshot,
    made: &MadeVectors,
    change: impl Fn(&KnowledgeSnapshot) -> Result<KnowledgeSnapshot, KnowledgeError>,
) -> Result<ChangedSnapshot, KnowledgeError> {
    let (change, room) = (&change, deps.settings().knowledge.vector_bytes());
    retry_lost_write(PortError::contended("knowledge"), present, |present| async move {
        let mut next = deps.llm().renew_analysis(change(&present)?).await?;
        let refused = next.add_made_vectors(made, room).err();
        let name = announce_snapshot(deps, knowledge).await?;
        let bytes = next.to_bytes()?;
        let key = name.file_key();
        let written = deps
            .queues()
            .put_file(&key, MIME_TYPE, FileBytes::from_bytes(bytes));
        written.await.map_err(|error| match error {
            FileError::Store(error) => error,
            other => PortError::unavailable("knowledge", other),
        })?;
        if let Some(known) = switch_to_snapshot(deps, knowledge, &name, &next).await? {
            delete_spare_files(deps, &known).await;
            return Ok(WriteAttempt::Done((next, refused)));
        }
        deps.queues().delete_file(&key).await?;
        Ok(WriteAttempt::Lost(knowledge.read_present(deps).await?))
    })
    .await
}

/// Names a new snapshot in the record before its file is written, so that no file is ever forgotten.
async fn announce_snapshot(
    deps: &Deps,
    knowledge: &ChangedKnowledge,
) -> Result<SnapshotName, KnowledgeError> {
    let name = SnapshotName::from_random_bits(generate_random_bits(deps.system()));
    retry_lost_write(PortError::contended("knowledge"), (), |()| async {
        let (mut known, now) = (knowledge.find_record(deps).await?, deps.system().now());
        let deletable = known.record.list_deletable(now);
        for spare in &deletable {
            deps.queues().delete_file(&spare.file_key()).await?;
        }
        known.record.begin_snapshot(name.clone(), now, &deletable);
        let written = write_record(deps.store(), &mut known).await?;
        Ok(WriteAttempt::after_write(written, name.clone()))
    })
    .await
}

/// Makes a written snapshot the present one. `None`: another writer was faster, or the agent was removed meanwhile.
async fn switch_to_snapshot(
    deps: &Deps,
    knowledge: &ChangedKnowledge,
    name: &SnapshotName,
    next: &KnowledgeSnapshot,
) -> Result<Option<AgentKnowledge>, KnowledgeError> {
    retry_lost_write(PortError::contended("knowledge"), (), |()| async {
        let mut known = match knowledge.find_record(deps).await {
            Err(KnowledgeError::NoAgent) => return Ok(WriteAttempt::Done(None)),
            found => found?,
        };
        if known.record.snapshot.as_ref() == Some(name) {
            return Ok(WriteAttempt::Done(Some(known.record)));
        }
        if !known.record.switch_snapshot(name, next, deps.system().now()) {
            return Ok(WriteAttempt::Done(None));
        }
        let written = write_record(deps.store(), &mut known).await?;
        Ok(WriteAttempt::after_write(written, Some(known.record)))
    })
    .await
}

/// Deletes files that are not needed any more. One that stays is deleted with the next change.
async fn delete_spare_files(deps: &Deps, known: &AgentKnowledge) {
    for spare in known.list_deletable(deps.system().now()) {
        if let Err(error) = deps.queues().delete_file(&spare.file_key()).await {
            tracing::warn!(%error, agent = %known.agent, "an old snapshot stays until the next change");
        }
    }
}

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
