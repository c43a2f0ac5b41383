//! Gives the blocks of a snapshot their vectors. What a block with the same place and text has is kept, and never made again.

use super::KnowledgeSnapshot;
use crate::knowledge::{
    BlockHash, KnowledgeBlock, MadeVectors, SnapshotVectors, SourceId, VectorGap, VectorRows,
};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};

/// Writes the text of which a model makes the vector of a block.
pub fn write_embedded_text(place: &str, text: &str) -> String {
    if place.is_empty() {
        return text.to_owned();
    }
    format!("{place}\n{text}")
}

impl KnowledgeBlock {
    /// Returns the text of which a model makes the block's vector.
    pub fn embedded_text(&self) -> String {
        write_embedded_text(&self.place, &self.text)
    }

    /// Returns the SHA-256 of place and text. Blocks with the same one have the same vector.
    pub fn content_hash(&self) -> BlockHash {
        let mut hash = Sha256::new();
        hash.update(self.place.as_bytes());
        hash.update([0]);
        hash.update(self.text.as_bytes());
        hash.finalize().into()
    }
}

impl KnowledgeSnapshot {
    /// Returns the vectors that blocks of this snapshot give to those of the next one.
    pub(super) fn carry_vectors_over(&self, next: &[KnowledgeBlock]) -> Option<SnapshotVectors> {
        let vectors = self.vectors.as_ref()?;
        let known: HashMap<BlockHash, usize> = vectors
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(row, block)| Some((self.blocks.get(usize::try_from(*block).ok()?)?, row)))
            .map(|(block, row)| (block.content_hash(), row))
            .collect();
        let mut carried = SnapshotVectors::begin_for_model(&vectors.model, vectors.rows.count_dimensions());
        for (number, block) in next.iter().enumerate() {
            if let Some(row) = known.get(&block.content_hash()) {
                carried.append_row_from(number, &vectors.rows, *row);
            }
        }
        Some(carried).filter(|carried| !carried.rows.has_no_vectors())
    }

    /// Adds vectors that a model made, as many as `bytes_max` has room for together with the present ones. Those of another model or of
    /// other dimensions than the present ones are refused.
    pub fn add_made_vectors(&mut self, made: &MadeVectors, bytes_max: usize) -> Result<(), VectorGap> {
        if made.has_no_vectors() {
            return Ok(());
        }
        self.explain_refusal(made)?;
        let present = self.vectors.take();
        let mut joined = SnapshotVectors::begin_for_model(&made.model, made.rows.count_dimensions());
        let present_row = |number: usize| -> Option<(&VectorRows, usize)> {
            let present = present.as_ref()?;
            let number = u32::try_from(number).ok()?;
            let row = present.blocks.binary_search(&number).ok()?;
            Some((&present.rows, row))
        };
        let mut all_fit = true;
        for (number, block) in self.blocks.iter().enumerate() {
            let row = present_row(number).or_else(|| made.find_vector_row(&block.content_hash()));
            if let Some((rows, row)) = row {
                let fits = (joined.rows.count_vector_rows() + 1).saturating_mul(joined.count_row_bytes())
                    <= bytes_max;
                all_fit &= fits;
                if fits {
                    joined.append_row_from(number, rows, row);
                }
            }
        }
        self.vectors = Some(joined);
        if all_fit { Ok(()) } else { Err(VectorGap::TooLarge) }
    }

    fn explain_refusal(&self, made: &MadeVectors) -> Result<(), VectorGap> {
        match &self.vectors {
            Some(present) if present.model != made.model => Err(VectorGap::OtherModel),
            Some(present) if present.rows.count_dimensions() != made.rows.count_dimensions() => {
                Err(VectorGap::OtherDimension)
            }
            _ => Ok(()),
        }
    }

    /// Returns the different texts of all blocks, each with the hash of its block.
    pub fn list_block_texts(&self) -> Vec<(BlockHash, String)> {
        list_different_texts(self.blocks.iter())
    }

    /// Returns the different texts without a vector, each with the hash of its block: those of a source, or all.
    pub fn list_unembedded(&self, source: Option<&SourceId>) -> Vec<(BlockHash, String)> {
        let blocks = self.blocks.iter().enumerate();
        let missing = blocks
            .filter(|(_, block)| source.is_none_or(|source| block.source == *source))
            .filter(|(number, _)| !self.has_block_vector(*number));
        list_different_texts(missing.map(|(_, block)| block))
    }

    /// Counts the blocks that have a vector: those of a source, or all.
    pub fn count_embedded(&self, source: Option<&SourceId>) -> usize {
        let blocks = self.blocks.iter().enumerate();
        blocks
            .filter(|(_, block)| source.is_none_or(|source| block.source == *source))
            .filter(|(number, _)| self.has_block_vector(*number))
            .count()
    }

    fn has_block_vector(&self, block: usize) -> bool {
        self.vectors
            .as_ref()
            .is_some_and(|vectors| vectors.has_vector_of_block(block))
    }
}

fn list_different_texts<'a>(blocks: impl Iterator<Item = &'a KnowledgeBlock>) -> Vec<(BlockHash, String)> {
    let mut seen = HashSet::new();
    blocks
        .map(|block| (block.content_hash(), block))
        .filter(|(hash, _)| seen.insert(*hash))
        .map(|(hash, block)| (hash, block.embedded_text()))
        .collect()
}
