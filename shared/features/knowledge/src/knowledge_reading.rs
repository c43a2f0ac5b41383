//! Reads the snapshot of an agent's knowledge, and has its index built in memory.

use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::counting::count_things;
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{AgentKnowledge, FoundBlocks, SearchWay, SnapshotName, VectorGap};
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_action;
use recado_ports::ports::{EmbeddingError, LibraryError, PortError, PortResult, SearchedQuestion};
use recado_ports::records::knowledge::{self, find_knowledge};
use recado_ports::time_limit::run_within;

/// The reason for which a snapshot cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadingError {
    /// A store failed, or the file is missing.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The snapshot is damaged.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

/// The snapshot that is in memory now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotReading {
    /// This one.
    Ready(SnapshotName),
    /// The agent has no knowledge any more.
    Removed,
}

/// Has the index of a snapshot in memory. If its file is gone because it was replaced, that of the present snapshot.
pub async fn ensure_snapshot_loaded(
    deps: &Deps,
    tenant: &TenantId,
    agent: &AgentId,
    name: &SnapshotName,
) -> Result<SnapshotReading, ReadingError> {
    if deps.llm().has_snapshot(name) {
        return Ok(SnapshotReading::Ready(name.clone()));
    }
    let Some((name, bytes)) = read_snapshot(deps, tenant, agent, Some(name)).await? else {
        return Ok(SnapshotReading::Removed);
    };
    deps.llm().load_snapshot(&name, bytes).await?;
    Ok(SnapshotReading::Ready(name))
}

/// Reads the file of a snapshot. If it is gone because it was replaced, the present one's. `None`: the agent has none.
pub async fn read_snapshot(
    deps: &Deps,
    tenant: &TenantId,
    agent: &AgentId,
    name: Option<&SnapshotName>,
) -> PortResult<Option<(SnapshotName, Vec<u8>)>> {
    let Some(name) = name else { return Ok(None) };
    if let Some(bytes) = read_file(deps, name).await? {
        return Ok(Some((name.clone(), bytes)));
    }
    let known = find_knowledge(deps.store(), tenant, agent).await?;
    let Some(present) = known.and_then(|known| known.record.snapshot) else {
        return Ok(None);
    };
    match read_file(deps, &present).await? {
        Some(bytes) => Ok(Some((present, bytes))),
        // The file may have been replaced once more; if not, the file is lost.
        None => Err(PortError::unavailable(
            "knowledge",
            "the snapshot's file is not there",
        )),
    }
}

async fn read_file(deps: &Deps, name: &SnapshotName) -> PortResult<Option<Vec<u8>>> {
    match deps.queues().open_file(&name.file_key()).await? {
        Some(bytes) => {
            let read = bytes.read_all().await;
            read.map(Some)
                .map_err(|error| PortError::unavailable("knowledge", error))
        }
        None => Ok(None),
    }
}

/// Deletes the knowledge of an agent that is about to be removed. If there is any, the audit gets an entry. The agent goes after it:
/// a removal that was cut off is asked for again, as long as there is an agent to name.
pub async fn remove_agent_knowledge(
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
    let done = AuditAction::KnowledgeChanged.on_object(Some(tenant), "agent", agent.as_str());
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
pub async fn delete_knowledge(deps: &Deps, known: &AgentKnowledge) -> PortResult<()> {
    for key in known.list_file_keys() {
        deps.queues().delete_file(&key).await?;
    }
    knowledge::delete_knowledge(deps.store(), &known.tenant, &known.agent).await
}

/// Finds the blocks that answer a question best. A question without a vector is searched for by its words, and the answer says why.
/// `None`: the snapshot is not in memory.
pub async fn search_loaded_snapshot(
    deps: &Deps,
    name: &SnapshotName,
    text: &str,
    limit: usize,
) -> Option<FoundBlocks> {
    let vector = make_question_vector(deps, name, text).await;
    let question = SearchedQuestion {
        text,
        vector: vector.as_deref().ok(),
    };
    let found = deps.llm().search_snapshot(name, question, limit).await?;
    let search = if vector.is_ok() {
        SearchWay::Hybrid
    } else {
        SearchWay::Lexical
    };
    Some(FoundBlocks {
        search,
        gap: vector.err(),
        ..found
    })
}

/// Makes the vector of a question, in one attempt, if the snapshot has vectors to which it can be compared.
async fn make_question_vector(deps: &Deps, name: &SnapshotName, text: &str) -> Result<Vec<f32>, VectorGap> {
    let model = deps.llm().embedding_model().ok_or(VectorGap::NotSetUp)?;
    let known = deps
        .llm()
        .find_snapshot_vectors(name)
        .ok_or(VectorGap::NoVectors)?;
    if known.model != model {
        return Err(VectorGap::OtherModel);
    }
    let made = ask_embedding_model(deps, text).await.map_err(|error| {
        tracing::warn!(%error, "a question has no vector: documents are searched by words alone");
        error.explain_vector_gap()
    })?;
    if made.len() != known.dimensions {
        let (expected, got) = (known.dimensions, made.len());
        tracing::warn!(
            expected,
            got,
            "a question's vector has other dimensions than those of the documents"
        );
        return Err(VectorGap::OtherDimension);
    }
    Ok(made)
}

async fn ask_embedding_model(deps: &Deps, text: &str) -> Result<Vec<f32>, EmbeddingError> {
    let within = deps.settings().question_vector_timeout.unsigned_abs();
    let texts = [text.to_owned()];
    let asked = deps.llm().embed_texts(&texts, within);
    let made = run_within(deps.system(), within, asked).await;
    let made = made.ok_or(EmbeddingError::TooSlow)??;
    Ok(made.vectors.into_iter().next().unwrap_or_default())
}
