//! The knowledge of agents: adds and removes documents, lists them and searches in them, for people and for
//! turns. It also recognizes corrections of spelling (`spelling`). Every change writes a new snapshot beside
//! the present one, and then makes it the present one. Messages never wait for that.
//!
//! Its types and rules are in [`recado_domain::knowledge`].

mod change;
pub mod knowledge_reading;
pub mod knowledge_routes;
pub mod page_routes;
pub mod question_rewriting;
pub mod search_routes;
pub mod spelling;
pub mod turn_part;
mod vectors;
mod writing;

pub use crate::change::{
    AddedSource, NewDocument, PAGES_MAX, PageOutcome, PageRefusal, SourceOutcome, add_pages, add_source,
    remove_source,
};
use crate::knowledge_reading::{
    ReadingError, SnapshotReading, ensure_snapshot_loaded, read_snapshot, search_loaded_snapshot,
};
pub use crate::vectors::{VectorState, embed_knowledge};
use recado_domain::access::Caller;
use recado_domain::config::{ConfigNames, EntryRef};
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{
    AgentKnowledge, FoundBlocks, KnowledgeBlock, KnowledgeSnapshot, KnowledgeSource, SnapshotError, SourceId,
};
use recado_domain::message::TextGap;
use recado_pipeline::Deps;
use recado_ports::ports::{LibraryError, PortError};
use recado_ports::records::configuration::find_named_entries;
use recado_ports::records::knowledge::find_knowledge;

/// Maximum number of blocks that one search returns.
pub const FOUND_MAX: usize = 50;

/// The reason for which a request about knowledge fails.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// There is no such agent, or it is outside the caller's scope.
    #[error("there is no such agent")]
    NoAgent,
    /// The agent has no such source.
    #[error("the agent has no such source")]
    NoSource,
    /// The title of the source is empty or too long.
    #[error("a source's title has 1 to {} characters", change::TITLE_MAX)]
    Title,
    /// The text of the document cannot be read.
    #[error("{title}: {}", describe_gap(*.gap))]
    Document {
        /// The title of the document.
        title: String,
        /// The reason.
        gap: TextGap,
    },
    /// Other documents are read now, and the tenant has no place for one more.
    #[error("another document is being read: wait for its end and send this one again")]
    Busy,
    /// The document has no text.
    #[error("{title}: the document has no text")]
    Empty {
        /// The title of the document.
        title: String,
    },
    /// The agent's knowledge would be too large, or its snapshot is damaged.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The snapshot cannot be searched.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// A store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl From<ReadingError> for KnowledgeError {
    fn from(error: ReadingError) -> Self {
        match error {
            ReadingError::Port(error) => Self::Port(error),
            ReadingError::Library(error) => Self::Library(error),
        }
    }
}

/// Returns the words for a document whose text cannot be read.
fn describe_gap(gap: TextGap) -> &'static str {
    match gap {
        TextGap::OtherType => "files of this type have no text that can be read",
        TextGap::TooLarge => "the document is too large",
        TextGap::TooManyAttempts => "reading the document failed; try again later",
        _ => "the document is damaged or encrypted, or reading it takes too much time or memory",
    }
}

/// The sources of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedKnowledge {
    /// Number of the snapshot; 0 before the first.
    pub version: u64,
    /// Number of blocks of all sources.
    pub blocks: usize,
    /// The sources, sorted by their titles.
    pub sources: Vec<KnowledgeSource>,
    /// The vectors of the blocks.
    pub vectors: VectorState,
}

/// Lists the sources of an agent.
pub async fn list_sources(
    deps: &Deps,
    caller: &Caller,
    agent: &AgentId,
) -> Result<ListedKnowledge, KnowledgeError> {
    let snapshot = read_present(deps, &find_tenant(deps, caller, agent).await?, agent).await?;
    Ok(ListedKnowledge {
        version: snapshot.version,
        blocks: snapshot.blocks.len(),
        vectors: vectors::describe_vectors(deps, &snapshot, None, None),
        sources: snapshot.sources,
    })
}

/// Returns a source of an agent with its blocks.
pub async fn show_source(
    deps: &Deps,
    caller: &Caller,
    agent: &AgentId,
    id: &SourceId,
) -> Result<(KnowledgeSource, Vec<KnowledgeBlock>), KnowledgeError> {
    let snapshot = read_present(deps, &find_tenant(deps, caller, agent).await?, agent).await?;
    let source = snapshot
        .find_source(id)
        .cloned()
        .ok_or(KnowledgeError::NoSource)?;
    let blocks = snapshot.blocks_of(id).cloned().collect();
    Ok((source, blocks))
}

/// Finds the blocks of an agent's sources that answer a question best. There are `limit` at most, also where the model is shown all.
pub async fn search_knowledge(
    deps: &Deps,
    caller: &Caller,
    agent: &AgentId,
    question: &str,
    limit: usize,
) -> Result<FoundBlocks, KnowledgeError> {
    let tenant = find_tenant(deps, caller, agent).await?;
    let known = find_knowledge(deps.store(), &tenant, agent).await?;
    let Some(name) = known.and_then(|known| known.record.snapshot) else {
        return Ok(FoundBlocks::default());
    };
    let name = match ensure_snapshot_loaded(deps, &tenant, agent, &name).await? {
        SnapshotReading::Ready(name) => name,
        SnapshotReading::Removed => return Ok(FoundBlocks::default()),
    };
    let limit = limit.min(FOUND_MAX);
    let found = search_loaded_snapshot(deps, &name, question, limit).await;
    let mut found = found.ok_or_else(|| LibraryError("it was dropped from memory meanwhile".to_owned()))?;
    found.blocks.truncate(limit);
    Ok(found)
}

/// Returns the tenant of a configured agent in the caller's scope.
async fn find_tenant(deps: &Deps, caller: &Caller, agent: &AgentId) -> Result<TenantId, KnowledgeError> {
    let names = ConfigNames::of([EntryRef::Agent(agent.clone())]);
    let found = find_named_entries(deps.store(), &names).await?;
    let within = found
        .agents
        .iter()
        .find(|known| known.id == *agent && caller.scope.covers(&known.tenant));
    within
        .map(|known| known.tenant.clone())
        .ok_or(KnowledgeError::NoAgent)
}

/// Reads the present snapshot of an agent; the empty one before the first.
async fn read_present(
    deps: &Deps,
    tenant: &TenantId,
    agent: &AgentId,
) -> Result<KnowledgeSnapshot, KnowledgeError> {
    let known = find_knowledge(deps.store(), tenant, agent).await?;
    match known {
        Some(known) => read_snapshot_of(deps, &known.record).await,
        None => Ok(KnowledgeSnapshot::default()),
    }
}

/// Reads the snapshot that a record names. If it was replaced meanwhile, the newer one is read.
async fn read_snapshot_of(deps: &Deps, known: &AgentKnowledge) -> Result<KnowledgeSnapshot, KnowledgeError> {
    let Some(bytes) = read_snapshot(deps, &known.tenant, &known.agent, known.snapshot.as_ref()).await? else {
        return Ok(KnowledgeSnapshot::default());
    };
    Ok(KnowledgeSnapshot::from_bytes(&bytes.1)?)
}
