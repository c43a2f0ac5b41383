//! Adds and removes sources: writes a new snapshot, and then makes it the present one.

use super::{KnowledgeError, find_record, find_tenant, read_present};
use crate::Deps;
use crate::ports::{
    FileBytes, FileError, Files, KnowledgeLibrary, KnowledgeRecords, PortError, System, WRITE_TRIES,
    WriteOutcome,
};
use crate::steps::audit::audit_action;
use crate::steps::random_id::generate_random_bits;
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{
    AgentKnowledge, KnowledgeBlock, KnowledgeSnapshot, KnowledgeSource, SnapshotName, SourceId, SplitDocument,
};
use recado_domain::media_type::MediaType;
use recado_domain::message::TextGap;

/// Maximum number of characters of a source's title.
pub(super) const TITLE_MAX: usize = 300;

/// The MIME type of a snapshot's file.
const MIME_TYPE: &str = "application/octet-stream";

/// A document that is to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// The name of the file, or the address of the page. A source with this title is replaced.
    pub title: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// The effect of adding a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceOutcome {
    /// The source is new.
    Added,
    /// The source was there with other content.
    Replaced,
    /// The source was there with the same content: nothing was written.
    Unchanged,
}

/// A source after its document was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedSource {
    /// The source.
    pub source: KnowledgeSource,
    /// Effect of adding it.
    pub outcome: SourceOutcome,
}

/// Adds a document to the knowledge of an agent, in place of the one with its title. The same content once more changes nothing.
pub async fn add_source(
    deps: &impl Deps,
    caller: &Caller,
    agent: &AgentId,
    document: NewDocument,
) -> Result<AddedSource, KnowledgeError> {
    let title = document.title.trim().to_owned();
    if title.is_empty() || title.chars().count() > TITLE_MAX || title.chars().any(char::is_control) {
        return Err(KnowledgeError::Title);
    }
    let tenant = find_tenant(deps, caller, agent).await?;
    let id = SourceId::of_title(agent, &title);
    let content_hash = hash_content(&document.bytes);
    let present = read_present(deps, &tenant, agent).await?;
    let before = present.find_source(&id).cloned();
    if let Some(source) = before
        .clone()
        .filter(|before| before.content_hash == content_hash)
    {
        let outcome = SourceOutcome::Unchanged;
        return Ok(AddedSource { source, outcome });
    }
    let bytes = document.bytes.len() as u64;
    let split = split_into_blocks(deps, &title, document.bytes).await?;
    let blocks: Vec<KnowledgeBlock> = split
        .blocks
        .into_iter()
        .map(|block| KnowledgeBlock {
            source: id.clone(),
            place: block.place,
            text: block.text,
            language: block.language,
            stems: block.stems,
        })
        .collect();
    let source = KnowledgeSource {
        id,
        title,
        content_hash,
        bytes,
        added_at: deps.system().now(),
        blocks: blocks.len(),
        is_cut: split.is_cut,
        words: split.words,
    };
    audit_change(deps, caller, &tenant, agent, format!("added {}", source.id)).await?;
    change_snapshot(deps, &tenant, agent, present, |present| {
        Ok(present.with_changes(&[], vec![(source.clone(), blocks.clone())])?)
    })
    .await?;
    let outcome = if before.is_some() {
        SourceOutcome::Replaced
    } else {
        SourceOutcome::Added
    };
    Ok(AddedSource { source, outcome })
}

/// Removes a source with its blocks.
pub async fn remove_source(
    deps: &impl Deps,
    caller: &Caller,
    agent: &AgentId,
    id: &SourceId,
) -> Result<(), KnowledgeError> {
    let tenant = find_tenant(deps, caller, agent).await?;
    let present = read_present(deps, &tenant, agent).await?;
    present.find_source(id).ok_or(KnowledgeError::NoSource)?;
    audit_change(deps, caller, &tenant, agent, format!("removed {id}")).await?;
    change_snapshot(deps, &tenant, agent, present, |present| {
        present.find_source(id).ok_or(KnowledgeError::NoSource)?;
        Ok(present.with_changes(std::slice::from_ref(id), Vec::new())?)
    })
    .await
}

async fn audit_change(
    deps: &impl Deps,
    caller: &Caller,
    tenant: &TenantId,
    agent: &AgentId,
    change: String,
) -> Result<(), KnowledgeError> {
    let action = AuditAction::KnowledgeChanged;
    let done = AuditedAction::on_object(action, Some(tenant), "agent", agent.as_str()).with_result(change);
    Ok(audit_action(deps, caller, done).await?)
}

/// Returns the SHA-256 of a document, in hexadecimal digits.
fn hash_content(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    hex::encode(Sha256::digest(bytes))
}

async fn split_into_blocks(
    deps: &impl Deps,
    title: &str,
    bytes: Vec<u8>,
) -> Result<SplitDocument, KnowledgeError> {
    let refused = |gap| KnowledgeError::Document {
        title: title.to_owned(),
        gap,
    };
    let empty = || KnowledgeError::Empty {
        title: title.to_owned(),
    };
    if bytes.is_empty() {
        return Err(empty());
    }
    let media_type = MediaType::from_file(&bytes, Some(title)).ok_or_else(|| refused(TextGap::OtherType))?;
    let split = deps
        .llm()
        .split_document(title, bytes, media_type)
        .await
        .map_err(refused)?;
    if split.blocks.is_empty() {
        return Err(empty());
    }
    Ok(split)
}

/// Writes the snapshot that `change` makes of the present one, which was read already, and makes it the present one. If another
/// writer was faster, the change is made of that writer's snapshot. So of two writers at once nothing is lost.
async fn change_snapshot(
    deps: &impl Deps,
    tenant: &TenantId,
    agent: &AgentId,
    mut present: KnowledgeSnapshot,
    change: impl Fn(&KnowledgeSnapshot) -> Result<KnowledgeSnapshot, KnowledgeError>,
) -> Result<(), KnowledgeError> {
    for _ in 0..WRITE_TRIES {
        let next = change(&present)?;
        let name = announce_snapshot(deps, tenant, agent).await?;
        let bytes = next.to_bytes()?;
        let key = name.file_key();
        let written = deps
            .queues()
            .put_file(&key, MIME_TYPE, FileBytes::from_bytes(bytes));
        written.await.map_err(|error| match error {
            FileError::Store(error) => error,
            other => PortError::unavailable("knowledge", other),
        })?;
        if let Some(known) = switch_to_snapshot(deps, tenant, agent, &name, &next).await? {
            delete_spare_files(deps, &known).await;
            return Ok(());
        }
        deps.queues().delete_file(&key).await?;
        present = read_present(deps, tenant, agent).await?;
    }
    Err(PortError::contended("knowledge").into())
}

/// Names a new snapshot in the record before its file is written, so that no file is ever forgotten.
async fn announce_snapshot(
    deps: &impl Deps,
    tenant: &TenantId,
    agent: &AgentId,
) -> Result<SnapshotName, KnowledgeError> {
    let name = SnapshotName::from_random_bits(generate_random_bits(deps.system()));
    for _ in 0..WRITE_TRIES {
        let (mut known, now) = (find_record(deps, tenant, agent).await?, deps.system().now());
        let deletable = known.list_deletable(now);
        for spare in &deletable {
            deps.queues().delete_file(&spare.file_key()).await?;
        }
        known.begin_snapshot(name.clone(), now, &deletable);
        if deps.store().save_knowledge(&known).await? == WriteOutcome::Written {
            return Ok(name);
        }
    }
    Err(PortError::contended("knowledge").into())
}

/// Makes a written snapshot the present one. `None`: another writer was faster.
async fn switch_to_snapshot(
    deps: &impl Deps,
    tenant: &TenantId,
    agent: &AgentId,
    name: &SnapshotName,
    next: &KnowledgeSnapshot,
) -> Result<Option<AgentKnowledge>, KnowledgeError> {
    for _ in 0..WRITE_TRIES {
        let mut known = find_record(deps, tenant, agent).await?;
        if known.snapshot.as_ref() == Some(name) {
            return Ok(Some(known));
        }
        if !known.switch_snapshot(name, next, deps.system().now()) {
            return Ok(None);
        }
        if deps.store().save_knowledge(&known).await? == WriteOutcome::Written {
            return Ok(Some(known));
        }
    }
    Err(PortError::contended("knowledge").into())
}

/// Deletes files that are not needed any more. One that stays is deleted with the next change.
async fn delete_spare_files(deps: &impl Deps, known: &AgentKnowledge) {
    for spare in known.list_deletable(deps.system().now()) {
        if let Err(error) = deps.queues().delete_file(&spare.file_key()).await {
            tracing::warn!(%error, agent = %known.agent, "an old snapshot stays until the next change");
        }
    }
}
