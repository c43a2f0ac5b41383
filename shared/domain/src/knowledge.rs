//! The knowledge of an agent: the documents of the business that it answers from, split into blocks.
//!
//! All of it is one snapshot, a file that never changes ([`KnowledgeSnapshot`]). The record of the agent's knowledge
//! ([`AgentKnowledge`]) names the present snapshot. So a reader sees the old snapshot or the new one, never half.

mod found;
mod snapshot;
mod split;
mod text;
mod used;
mod vectors;

pub use found::{FoundBlock, FoundBlocks, SearchWay, VectorGap};
pub use snapshot::embedding::write_embedded_text;
pub use snapshot::{KnowledgeSnapshot, SnapshotError};
pub use split::{SplitBlock, SplitDocument};
pub use text::{NOTHING_FOUND, first_block_text, fits_whole, render_knowledge, render_texts_of_blocks};
pub use used::{KnowledgeGap, TurnKnowledge, UsedBlock};
pub use vectors::{MadeVectors, OtherDimension, SnapshotVectors, VectorRows, normalize_length};

use crate::hexadecimal::is_hexadecimal;
use crate::ids::{AgentId, IdError, Nonce, TenantId, hash_parts};
use crate::millis;
use crate::text_conversions::text_conversions;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Maximum number of sources of an agent.
pub const SOURCES_MAX: usize = 1_000;

/// Size of a block's vector in a snapshot, in bytes, if it has 1,536 dimensions.
const USUAL_VECTOR_BYTES: usize = 2 * 1_536 + 8;

/// The size that the knowledge of an agent may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnowledgeLimits {
    /// Maximum number of blocks, at most [`Self::BLOCKS_MAX`].
    pub blocks: usize,
    /// Number of blocks whose vectors with 1,536 dimensions have room in a snapshot, at most [`Self::BLOCKS_MAX`].
    pub vectors: usize,
}

impl KnowledgeLimits {
    /// The largest limit that can be set. Searches of so many blocks were measured.
    pub const BLOCKS_MAX: usize = 100_000;

    /// Returns the room for vectors in a snapshot, in bytes.
    pub fn vector_bytes(self) -> usize {
        self.vectors.saturating_mul(USUAL_VECTOR_BYTES)
    }
}

impl Default for KnowledgeLimits {
    fn default() -> Self {
        Self {
            blocks: 20_000,
            vectors: 20_000,
        }
    }
}

/// Time after which the snapshot of a writer that never finished is deleted.
const ABANDONED_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// The id of a source: `k_` and 16 hexadecimal digits, made of the agent and the title.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceId(String);

impl SourceId {
    /// Returns the id of the source of an agent with this title.
    pub fn of_title(agent: &AgentId, title: &str) -> Self {
        Self(format!("k_{}", hash_parts(&["source", agent.as_str(), title], 8)))
    }

    /// Parses `k_` and 16 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text
            .strip_prefix("k_")
            .is_some_and(|digits| is_hexadecimal(digits, 16))
        {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::Malformed { kind: "source id" })
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_conversions!(SourceId(String), IdError);

/// A document of the business, as the snapshot lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeSource {
    /// The source's id.
    pub id: SourceId,
    /// The name of the file, or the address of the page.
    pub title: String,
    /// SHA-256 of the document's bytes, in hexadecimal digits.
    pub content_hash: String,
    /// Size of the document, in bytes.
    pub bytes: u64,
    /// Time at which this content was added.
    #[serde(with = "millis")]
    pub added_at: Timestamp,
    /// Number of its blocks.
    pub blocks: usize,
    /// `true` if the document had more text than is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The different words of its blocks, which a misspelled word may stand for.
    pub words: Vec<String>,
    /// The number of the way in which these words and the stems of the blocks were found. Files from before it was written have 0.
    /// Words that were found in another way than the present one are found anew.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub analysis: u32,
}

/// A piece of a document that answers by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeBlock {
    /// The source that it is of.
    pub source: SourceId,
    /// The headings above it, outermost first, separated by ` › `.
    pub place: String,
    /// The text.
    pub text: String,
    /// The language in which its words were stemmed.
    pub language: String,
    /// The stems of its words, separated by spaces: what it is searched by.
    pub stems: String,
}

/// The hash of a block's place and text.
pub type BlockHash = [u8; 32];

/// The name of a snapshot: 32 random hexadecimal digits. A name is never used again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SnapshotName(String);

impl SnapshotName {
    /// Makes a name of random bits.
    pub fn from_random_bits(bits: u128) -> Self {
        Self(format!("{bits:032x}"))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key under which the file store keeps the snapshot.
    pub fn file_key(&self) -> String {
        format!("knowledge/{}", self.0)
    }
}

/// A snapshot's file that is not the present one: it is being written, or it is to be deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpareSnapshot {
    /// The snapshot.
    pub name: SnapshotName,
    /// Time since which the record names it here.
    #[serde(with = "millis")]
    pub since: Timestamp,
    /// `true` if it was the present one once, so that nobody writes it any more.
    pub replaced: bool,
}

/// The record of an agent's knowledge. It stands apart from the agent, which a configuration document replaces as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentKnowledge {
    /// The tenant.
    pub tenant: TenantId,
    /// The agent.
    pub agent: AgentId,
    /// Random text that tells the knowledge from that of an agent that had the name before. `None` in a record of an older
    /// format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<Nonce>,
    /// Number of the present snapshot, counted from 1; 0 before the first.
    pub version: u64,
    /// The present snapshot; `None` before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotName>,
    /// Number of sources in the present snapshot.
    pub sources: usize,
    /// Number of blocks in the present snapshot.
    pub blocks: usize,
    /// Other snapshots whose files may exist. Each is named before its file is written, so that none is forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spare: Vec<SpareSnapshot>,
}

impl AgentKnowledge {
    /// Makes the record of an agent without knowledge, under a new random `born`.
    pub fn begin(tenant: TenantId, agent: AgentId, born: Nonce) -> Self {
        Self {
            tenant,
            agent,
            born: Some(born),
            version: 0,
            snapshot: None,
            sources: 0,
            blocks: 0,
            spare: Vec::new(),
        }
    }

    /// Returns the spare snapshots whose files nobody writes or reads any more.
    pub fn list_deletable(&self, now: Timestamp) -> Vec<SnapshotName> {
        let is_abandoned =
            |spare: &&SpareSnapshot| spare.replaced || now.duration_since(spare.since) >= ABANDONED_AFTER;
        self.spare
            .iter()
            .filter(is_abandoned)
            .map(|spare| spare.name.clone())
            .collect()
    }

    /// Names a snapshot whose file is about to be written, and forgets those whose files were deleted.
    pub fn begin_snapshot(&mut self, name: SnapshotName, now: Timestamp, deleted: &[SnapshotName]) {
        self.spare.retain(|spare| !deleted.contains(&spare.name));
        self.spare.push(SpareSnapshot {
            name,
            since: now,
            replaced: false,
        });
    }

    /// Makes a written snapshot the present one. `false`, and nothing changes: another writer was faster.
    pub fn switch_snapshot(
        &mut self,
        name: &SnapshotName,
        written: &KnowledgeSnapshot,
        now: Timestamp,
    ) -> bool {
        let is_known = self.spare.iter().any(|spare| spare.name == *name);
        if !is_known || self.version + 1 != written.version {
            return false;
        }
        self.spare.retain(|spare| spare.name != *name);
        if let Some(before) = self.snapshot.replace(name.clone()) {
            self.spare.push(SpareSnapshot {
                name: before,
                since: now,
                replaced: true,
            });
        }
        self.version = written.version;
        self.sources = written.sources.len();
        self.blocks = written.blocks.len();
        true
    }

    /// Returns the keys of all files that may exist.
    pub fn list_file_keys(&self) -> Vec<String> {
        let spare = self.spare.iter().map(|spare| &spare.name);
        self.snapshot
            .iter()
            .chain(spare)
            .map(SnapshotName::file_key)
            .collect()
    }
}

#[cfg(test)]
mod tests;
