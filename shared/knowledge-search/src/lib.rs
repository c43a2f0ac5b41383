//! The knowledge of a business, without I/O: documents are split into blocks, and the blocks that answer a question are found.
//!
//! Three ways find blocks: by words ([`LexicalIndex`]), by vectors of an embedding model ([`VectorIndex`]), and by both
//! ([`join_both_ways`]). [`evaluation`] measures them on questions whose blocks are known.

mod analysis;
mod analyzer;
pub mod evaluation;
mod fusion;
mod index;
mod index_cache;
mod language;
mod lexical;
mod postings;
mod spelling;
mod split;
mod vector;

pub use analysis::{analyze_document, renew_analysis};
pub use fusion::{fuse_ranks, join_both_ways};
pub use index::KnowledgeIndex;
pub use index_cache::KnowledgeIndexCache;
pub use language::{BlockLanguage, detect_language};
pub use lexical::{AnalyzedText, LexicalIndex, TextAnalyzer};
pub use split::{Block, SplitSettings, split_document, write_markdown_section};
pub use vector::{VectorIndex, hash_ngrams, search_vector_rows};

/// A block that was found, by its number in the index, with its score. Scores of different ways cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The block's number: its place among those that the index was built of.
    pub block: usize,
    /// The higher, the better it fits.
    pub score: f32,
}

/// Sorts the best first, equal ones by their number, and keeps `limit`.
pub(crate) fn keep_best_blocks(mut found: Vec<Found>, limit: usize) -> Vec<Found> {
    let better = |a: &Found, b: &Found| b.score.total_cmp(&a.score).then(a.block.cmp(&b.block));
    if found.len() > limit && limit > 0 {
        found.select_nth_unstable_by(limit - 1, better);
    }
    found.truncate(limit);
    found.sort_unstable_by(better);
    found
}
