//! A block that was found for a question.

use super::SourceId;

/// A block that was found for a question.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundBlock {
    /// The source that it is of.
    pub source: SourceId,
    /// The title of the source.
    pub title: String,
    /// The headings above it.
    pub place: String,
    /// The text.
    pub text: String,
    /// The higher, the better it fits. Scores of different ways of search cannot be compared.
    pub score: f32,
}
