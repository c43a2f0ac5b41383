//! A document that was split into blocks, before it has a source.

use super::{KnowledgeBlock, SourceId};

/// A block of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitBlock {
    /// The headings above it.
    pub place: String,
    /// The text.
    pub text: String,
    /// The language of its words.
    pub language: String,
    /// The stems of its words, of its headings and of the title, separated by spaces.
    pub stems: String,
}

impl SplitBlock {
    /// Makes the block of a source.
    pub fn into_block_of(self, source: &SourceId) -> KnowledgeBlock {
        KnowledgeBlock {
            source: source.clone(),
            place: self.place,
            text: self.text,
            language: self.language,
            stems: self.stems,
        }
    }
}

/// A document that was split into blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SplitDocument {
    /// The blocks.
    pub blocks: Vec<SplitBlock>,
    /// The different words of the blocks.
    pub words: Vec<String>,
    /// The number of the way in which words and stems were found ([`super::KnowledgeSource::analysis`]).
    pub analysis: u32,
    /// `true` if the document has more text than was read.
    pub is_cut: bool,
    /// The pages of a PDF document that cannot be read, and are left out.
    pub unread_pages: Vec<usize>,
}
