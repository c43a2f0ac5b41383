//! The blocks that were found for a question, and the way in which they were found.

use super::SourceId;
use serde::{Deserialize, Serialize};

/// A block that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = FoundBlockView))]
pub struct FoundBlock {
    /// Id of its source.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub source: SourceId,
    /// The title of its source.
    pub title: String,
    /// The headings above it.
    pub place: String,
    /// The text.
    pub text: String,
    /// The higher, the better it fits. Scores of different ways of search cannot be compared.
    pub score: f32,
    /// The score by its words, if they are among the best.
    pub lexical: Option<f32>,
    /// The cosine between its vector and the question's, if it is among the nearest.
    pub cosine: Option<f32>,
}

/// The way in which blocks were found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SearchWay {
    /// By their words and by vectors.
    Hybrid,
    /// By their words.
    #[default]
    #[serde(other)]
    Lexical,
}

impl SearchWay {
    /// Returns the word that records and the API use.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The reason why vectors have no part in a search, or why blocks have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum VectorGap {
    /// The installation has no embedding model.
    NotSetUp,
    /// The key of the embedding model is missing or was refused.
    NoKey,
    /// The embedding model could not be reached, or failed.
    Unreachable,
    /// The embedding model took too long.
    TooSlow,
    /// The embedding model refused the texts.
    Refused,
    /// The embedding model makes vectors of other dimensions than the snapshot has.
    OtherDimension,
    /// The snapshot has vectors of another model than the present one.
    OtherModel,
    /// The snapshot has no vectors.
    NoVectors,
    /// The vectors of a snapshot would be too large.
    TooLarge,
    /// A version of Recado that this one does not know gave the reason.
    #[serde(other)]
    Unknown,
}

impl VectorGap {
    /// Returns the word that records and the API use.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The blocks that were found for a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundBlocks {
    /// The blocks, the best first.
    pub blocks: Vec<FoundBlock>,
    /// The other blocks, in the order of the documents, if the model is shown all.
    pub rest: Vec<FoundBlock>,
    /// Number of all blocks of the agent, if they are so short that the model is shown all.
    pub whole: Option<usize>,
    /// The way in which they were found.
    pub search: SearchWay,
    /// The reason why vectors had no part.
    pub gap: Option<VectorGap>,
}
