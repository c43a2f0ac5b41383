//! The snapshot of an agent's knowledge.

pub(super) mod embedding;
mod file;

use super::{KnowledgeBlock, KnowledgeLimits, KnowledgeSource, SOURCES_MAX, SnapshotVectors, SourceId};
use serde::{Deserialize, Serialize};

/// All sources of an agent with their blocks at one moment. A snapshot never changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KnowledgeSnapshot {
    /// Number of the snapshot, counted from 1.
    pub version: u64,
    /// The sources, sorted by their titles.
    pub sources: Vec<KnowledgeSource>,
    /// The blocks, those of a source together and in their order.
    pub blocks: Vec<KnowledgeBlock>,
    /// The vectors of the blocks; `None` if no block has one.
    #[serde(skip)]
    pub vectors: Option<SnapshotVectors>,
}

/// The reason why a snapshot cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file is no snapshot of a known format.
    #[error("the file is no snapshot of this version of Recado")]
    OtherFormat,
    /// The file ends too early or too late.
    #[error("the snapshot is cut off")]
    CutOff,
    /// The file is damaged.
    #[error("the snapshot is damaged")]
    Damaged(#[source] serde_json::Error),
    /// The agent would have too many sources.
    #[error("an agent has {SOURCES_MAX} sources at most")]
    TooManySources,
    /// The agent would have too many blocks.
    #[error(
        "the sources of an agent have {most} blocks at most, with these documents they would have {blocks}"
    )]
    TooManyBlocks {
        /// Number of blocks that there would be.
        blocks: usize,
        /// Number of blocks that an agent may have.
        most: usize,
    },
}

impl KnowledgeSnapshot {
    /// Returns the next snapshot: without the sources that `removed` names, and with `added` in place of those of the same id. Blocks
    /// that stay as they are keep their vectors. One with more blocks than the limits allow is refused, if it has more than this one.
    pub fn with_changes(
        &self,
        limits: KnowledgeLimits,
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
        let (blocks, most) = (next.blocks.len(), limits.blocks);
        if blocks > most && blocks > self.blocks.len() {
            return Err(SnapshotError::TooManyBlocks { blocks, most });
        }
        next.vectors = self.carry_vectors_over(&next.blocks);
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
