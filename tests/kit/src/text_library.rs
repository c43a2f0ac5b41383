//! A library of knowledge for tests: it reads every document as text, and searches as the product does.

use recado_domain::knowledge::{FoundBlocks, KnowledgeSnapshot, SnapshotName, SplitDocument};
use recado_domain::message::TextGap;
use recado_knowledge_search::{
    KnowledgeIndexCache, SplitSettings, analyze_document, hash_ngrams, renew_analysis,
};
use recado_ports::ports::{KnownVectors, LibraryError, SearchedQuestion};

/// The library. Clones share what is in memory.
#[derive(Debug, Clone, Default)]
pub struct TextLibrary(KnowledgeIndexCache);

impl TextLibrary {
    /// Splits a text into blocks of so many characters at most.
    pub fn split(&self, title: &str, bytes: &[u8], characters_max: usize) -> Result<SplitDocument, TextGap> {
        let text = std::str::from_utf8(bytes).map_err(|_| TextGap::Unreadable)?;
        Ok(analyze_document(title, text, SplitSettings { characters_max }))
    }

    /// Finds the words of sources anew that were found in an earlier way.
    pub fn renew(&self, mut snapshot: KnowledgeSnapshot) -> KnowledgeSnapshot {
        renew_analysis(&mut snapshot);
        snapshot
    }

    /// Returns `true` if a snapshot is in memory.
    pub fn has(&self, name: &SnapshotName) -> bool {
        self.0.find_index(name).is_some()
    }

    /// Brings a snapshot into memory.
    pub fn load(&self, name: &SnapshotName, bytes: &[u8]) -> Result<(), LibraryError> {
        let built = self.0.build_kept_index(name, bytes);
        built.map_err(|error| LibraryError(error.to_string()))
    }

    /// Searches a snapshot that is in memory.
    pub fn search(
        &self,
        name: &SnapshotName,
        question: SearchedQuestion<'_>,
        limit: usize,
    ) -> Option<FoundBlocks> {
        let index = self.0.find_index(name)?;
        Some(index.find_shown_blocks(question.text, question.vector, limit))
    }

    /// Returns the vectors of a snapshot that is in memory.
    pub fn find_known_vectors(&self, name: &SnapshotName) -> Option<KnownVectors> {
        let index = self.0.find_index(name)?;
        let vectors = index.find_block_vectors()?;
        Some(KnownVectors {
            model: vectors.model.clone(),
            dimensions: vectors.rows.count_dimensions(),
        })
    }
}

/// Makes the vector of a text, of its letters.
pub fn make_vector(text: &str, dimensions: usize) -> Vec<f32> {
    hash_ngrams(text, dimensions)
}
