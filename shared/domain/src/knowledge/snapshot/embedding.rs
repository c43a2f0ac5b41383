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
        let hash_of = |block: u32| Some(self.blocks.get(usize::try_from(block).ok()?)?.content_hash());
        let known: HashMap<BlockHash, usize> = vectors
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(row, block)| Some((hash_of(*block)?, row)))
            .collect();
        let mut carried = SnapshotVectors::begin_for_model(&vectors.model, vectors.rows.count_dimensions());
        for (number, block) in next.iter().enumerate() {
            if let Some(row) = known.get(&block.content_hash()) {
                carried.append_row_from(number, &vectors.rows, *row);
            }
        }
        Some(carried).filter(|carried| !carried.has_no_blocks())
    }

    /// Adds vectors that a model made, as many as so many bytes have room for. The present ones stay where they are. Those of another
    /// model or of other dimensions than the present ones are refused.
    pub fn add_made_vectors(&mut self, made: &MadeVectors, room_bytes: usize) -> Result<(), VectorGap> {
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
        let present_rows = present.as_ref().map_or(0, |present| present.blocks.len());
        let mut left = (room_bytes / joined.count_row_bytes()).saturating_sub(present_rows);
        let mut all_fit = true;
        for (number, block) in self.blocks.iter().enumerate() {
            if let Some((rows, row)) = present_row(number) {
                joined.append_row_from(number, rows, row);
            } else if let Some((rows, row)) = made.find_vector_row(&block.content_hash()) {
                if left > 0 {
                    left -= 1;
                    joined.append_row_from(number, rows, row);
                } else {
                    all_fit = false;
                }
            }
        }
        self.vectors = Some(joined).filter(|joined| !joined.has_no_blocks());
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
