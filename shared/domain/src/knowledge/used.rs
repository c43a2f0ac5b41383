//! The record of the knowledge that a turn used.

use super::{FoundBlocks, SearchWay, SourceId, VectorGap};
use serde::{Deserialize, Serialize};

/// Maximum number of blocks that a turn's record names. Where the model is shown all, these are the best.
const NAMED_MAX: usize = 5;

/// Longest title and place that a turn's record repeats, in characters.
const WORDS_MAX: usize = 60;

/// The reason why a turn went on without the knowledge of its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnowledgeGap {
    /// The store failed, or the snapshot's file is missing.
    NotRead,
    /// The snapshot is damaged.
    Damaged,
    /// The search took too long.
    TooSlow,
    /// A version of Recado that this one does not know gave the reason.
    #[serde(other)]
    Unknown,
}

/// A block that a turn used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedBlock {
    /// The source.
    pub source: SourceId,
    /// The title of the source, cut if it is long.
    pub title: String,
    /// The headings above the block, cut if they are long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The score in thousandths.
    pub score: u32,
}

/// The knowledge that a turn used, or the reason why it used none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnKnowledge {
    /// The blocks that were found and shown to the model, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<UsedBlock>,
    /// Number of all blocks of the agent, if the model was shown all since they are short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<usize>,
    /// The reason why the turn went on without the agent's knowledge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<KnowledgeGap>,
    /// The way in which the blocks were found.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub search: SearchWay,
    /// The reason why vectors had no part in the search; `None` also where no embedding model is set up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<VectorGap>,
}

impl TurnKnowledge {
    /// Makes the record of a turn that used these blocks.
    pub fn from_found(found: &FoundBlocks) -> Self {
        let cut = |text: &str| text.chars().take(WORDS_MAX).collect();
        let used = found.blocks.iter().take(NAMED_MAX).map(|block| UsedBlock {
            source: block.source.clone(),
            title: cut(&block.title),
            place: cut(&block.place),
            score: to_thousandths(block.score),
        });
        Self {
            blocks: used.collect(),
            whole: found.whole,
            gap: None,
            search: found.search,
            vectors: found.gap.filter(|gap| *gap != VectorGap::NotSetUp),
        }
    }

    /// Makes the record of a turn that went on without knowledge.
    pub fn from_gap(gap: KnowledgeGap) -> Self {
        Self {
            gap: Some(gap),
            ..Self::default()
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a float stops at the bounds of the number"
)]
fn to_thousandths(score: f32) -> u32 {
    (score * 1000.0).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::AgentId;
    use crate::knowledge::FoundBlock;

    #[test]
    fn a_record_is_small_and_reads_reasons_of_other_versions() {
        let block = FoundBlock {
            source: SourceId::of_title(&AgentId::parse("clara").unwrap(), "a"),
            title: "é".repeat(500),
            place: String::new(),
            text: "not repeated".to_owned(),
            score: 1.23456,
            lexical: None,
            cosine: None,
        };
        let found = FoundBlocks {
            blocks: vec![block; 9],
            gap: Some(VectorGap::NotSetUp),
            ..FoundBlocks::default()
        };
        let record = TurnKnowledge::from_found(&found);
        assert_eq!(
            (record.blocks[0].score, record.blocks[0].title.chars().count()),
            (1235, WORDS_MAX)
        );
        assert_eq!(record.blocks.len(), NAMED_MAX);
        let written = serde_json::to_string(&record).unwrap();
        assert!(
            !["not repeated", "place", "search", "vectors", "whole"]
                .iter()
                .any(|word| written.contains(word)),
            "{written}"
        );
        let later: TurnKnowledge = serde_json::from_str(r#"{"gap":"eaten"}"#).unwrap();
        assert_eq!(later, TurnKnowledge::from_gap(KnowledgeGap::Unknown));
        let later: TurnKnowledge =
            serde_json::from_str(r#"{"vectors":"asleep","search":"guessed"}"#).unwrap();
        assert_eq!(
            (later.vectors, later.search),
            (Some(VectorGap::Unknown), SearchWay::Lexical)
        );
    }
}
