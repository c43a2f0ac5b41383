//! The snapshot of an agent's knowledge, and its form as a file.

use super::{BLOCKS_MAX, KnowledgeBlock, KnowledgeSource, SOURCES_MAX, SourceId};
use serde::{Deserialize, Serialize};

/// The first bytes of every snapshot's file; the digit is the number of the format.
const MAGIC: &[u8] = b"recado-knowledge-2\n";

/// All sources of an agent with their blocks at one moment. A snapshot never changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeSnapshot {
    /// Number of the snapshot, counted from 1.
    pub version: u64,
    /// The sources, sorted by their titles.
    pub sources: Vec<KnowledgeSource>,
    /// The blocks, those of a source together and in their order.
    pub blocks: Vec<KnowledgeBlock>,
}

/// The reason why a snapshot cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file is no snapshot of a known format.
    #[error("the file is no snapshot of this version of Recado")]
    OtherFormat,
    /// The file is damaged.
    #[error("the snapshot is damaged")]
    Damaged(#[source] serde_json::Error),
    /// The agent would have too many sources.
    #[error("an agent has {SOURCES_MAX} sources at most")]
    TooManySources,
    /// The agent would have too many blocks.
    #[error("the sources of an agent have {BLOCKS_MAX} blocks at most")]
    TooManyBlocks,
}

impl KnowledgeSnapshot {
    /// Reads the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let body = bytes.strip_prefix(MAGIC).ok_or(SnapshotError::OtherFormat)?;
        serde_json::from_slice(body).map_err(SnapshotError::Damaged)
    }

    /// Returns the bytes of the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        let mut bytes = MAGIC.to_vec();
        serde_json::to_writer(&mut bytes, self).map_err(SnapshotError::Damaged)?;
        Ok(bytes)
    }

    /// Returns the next snapshot: without the sources that `removed` names, and with `added` in place of those of the same id.
    pub fn with_changes(
        &self,
        removed: &[SourceId],
        added: Vec<(KnowledgeSource, Vec<KnowledgeBlock>)>,
    ) -> Result<Self, SnapshotError> {
        let is_gone =
            |id: &SourceId| removed.contains(id) || added.iter().any(|(source, _)| source.id == *id);
        let mut parts: Vec<(KnowledgeSource, Vec<KnowledgeBlock>)> = self
            .sources
            .iter()
            .filter(|source| !is_gone(&source.id))
            .map(|source| (source.clone(), self.blocks_of(&source.id).cloned().collect()))
            .collect();
        parts.extend(added);
        parts.sort_by(|(a, _), (b, _)| (&a.title, &a.id).cmp(&(&b.title, &b.id)));
        if parts.len() > SOURCES_MAX {
            return Err(SnapshotError::TooManySources);
        }
        let mut next = Self {
            version: self.version + 1,
            ..Self::default()
        };
        for (source, blocks) in parts {
            next.sources.push(source);
            next.blocks.extend(blocks);
        }
        if next.blocks.len() > BLOCKS_MAX {
            return Err(SnapshotError::TooManyBlocks);
        }
        Ok(next)
    }

    /// Returns the source with this id.
    pub fn find_source(&self, id: &SourceId) -> Option<&KnowledgeSource> {
        self.sources.iter().find(|source| source.id == *id)
    }

    /// Returns the blocks of a source, in their order.
    pub fn blocks_of<'a>(&'a self, id: &'a SourceId) -> impl Iterator<Item = &'a KnowledgeBlock> {
        self.blocks.iter().filter(move |block| block.source == *id)
    }
}
