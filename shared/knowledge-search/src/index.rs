//! The index of one snapshot: the blocks that answer a question, by words and by vectors.

use crate::analysis::renew_analysis;
use crate::{BlockLanguage, Found, LexicalIndex, join_both_ways, search_vector_rows};
use recado_domain::knowledge::{
    FoundBlock, FoundBlocks, KnowledgeSnapshot, SnapshotError, SnapshotVectors, SourceId, fits_whole,
};
use std::collections::{HashMap, HashSet};

/// Number of blocks that each way contributes at least where both are joined.
const JOINED_MIN: usize = 50;

/// The index of one snapshot. It never changes.
#[derive(Debug)]
pub struct KnowledgeIndex {
    snapshot: KnowledgeSnapshot,
    titles: HashMap<SourceId, String>,
    words: LexicalIndex,
    /// The blocks are so short that a model is shown all of them.
    is_small: bool,
    /// Size of the snapshot's file.
    pub(crate) bytes: usize,
}

/// Blocks by their numbers.
struct RankedBlocks {
    /// Those that answer a question best, the best first.
    best: Vec<Found>,
    /// Those that were found by words, and those that are near.
    words: Vec<Found>,
    near: Vec<Found>,
}

impl KnowledgeIndex {
    /// Builds the index of a snapshot's file. Sources whose words were found in another way than the present one are analyzed again.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut snapshot = KnowledgeSnapshot::from_bytes(bytes)?;
        renew_analysis(&mut snapshot);
        let titles: HashMap<SourceId, String> = snapshot
            .sources
            .iter()
            .map(|source| (source.id.clone(), source.title.clone()))
            .collect();
        let blocks = snapshot.blocks.iter();
        let blocks = blocks.map(|block| (BlockLanguage::from_name(&block.language), block.stems.as_str()));
        let words = snapshot
            .sources
            .iter()
            .flat_map(|source| &source.words)
            .map(String::as_str);
        let words = LexicalIndex::of_analyzed(blocks, words);
        let shown = snapshot.blocks.iter().map(|block| {
            let title = titles.get(&block.source).map_or("", String::as_str);
            (title, block.place.as_str(), block.text.as_str())
        });
        let is_small = fits_whole(shown);
        // The index of words needs neither any more.
        for block in &mut snapshot.blocks {
            block.stems = String::new();
        }
        for source in &mut snapshot.sources {
            source.words = Vec::new();
        }
        Ok(Self {
            snapshot,
            titles,
            words,
            is_small,
            bytes: bytes.len(),
        })
    }

    /// Returns the vectors of the blocks; `None` if there are none.
    pub fn find_block_vectors(&self) -> Option<&SnapshotVectors> {
        self.snapshot.vectors.as_ref()
    }

    /// Returns the blocks that answer a question best, the best first. By words alone it finds none if no word of the question stands
    /// in a block. With the question's vector, the ranks by words and by vectors are joined.
    pub fn search(&self, question: &str, vector: Option<&[f32]>, limit: usize) -> Vec<FoundBlock> {
        self.describe_ranked(&self.rank_blocks(question, vector, limit))
    }

    /// Does the same for a model, which is shown all blocks if they are short: those that are found, then the rest.
    pub fn find_shown_blocks(&self, question: &str, vector: Option<&[f32]>, limit: usize) -> FoundBlocks {
        if !self.is_small {
            return FoundBlocks {
                blocks: self.search(question, vector, limit),
                ..FoundBlocks::default()
            };
        }
        let all = self.snapshot.blocks.len();
        let ranked = self.rank_blocks(question, vector, all);
        let found: HashSet<usize> = ranked.best.iter().map(|found| found.block).collect();
        let rest = (0..all).filter(|block| !found.contains(block));
        let rest = rest.filter_map(|block| self.describe_found(Found { block, score: 0.0 }, &[], &[]));
        FoundBlocks {
            blocks: self.describe_ranked(&ranked),
            rest: rest.collect(),
            whole: Some(all),
            ..FoundBlocks::default()
        }
    }

    fn rank_blocks(&self, question: &str, vector: Option<&[f32]>, limit: usize) -> RankedBlocks {
        let near = vector.and_then(|vector| self.find_near_blocks(vector, limit.max(JOINED_MIN)));
        let Some(near) = near else {
            let words = self.words.search(question, limit);
            return RankedBlocks {
                best: words.clone(),
                words,
                near: Vec::new(),
            };
        };
        let words = self.words.search(question, limit.max(JOINED_MIN));
        RankedBlocks {
            best: join_both_ways(&words, &near, limit),
            words,
            near,
        }
    }

    fn describe_ranked(&self, ranked: &RankedBlocks) -> Vec<FoundBlock> {
        let best = ranked.best.iter();
        best.filter_map(|found| self.describe_found(*found, &ranked.words, &ranked.near))
            .collect()
    }

    /// Returns the blocks that are nearest to a vector; `None` if the snapshot has no vectors of its dimensions.
    fn find_near_blocks(&self, vector: &[f32], limit: usize) -> Option<Vec<Found>> {
        let vectors = self.find_block_vectors()?;
        let found = search_vector_rows(&vectors.rows, vector, limit).ok()?;
        let as_block = |found: Found| {
            let block = vectors.blocks.get(found.block)?;
            let block = usize::try_from(*block).ok()?;
            Some(Found { block, ..found })
        };
        Some(found.into_iter().filter_map(as_block).collect())
    }

    fn describe_found(&self, found: Found, words: &[Found], near: &[Found]) -> Option<FoundBlock> {
        let block = self.snapshot.blocks.get(found.block)?;
        let score_of = |list: &[Found]| {
            let same = list.iter().find(|other| other.block == found.block);
            same.map(|other| other.score)
        };
        Some(FoundBlock {
            source: block.source.clone(),
            title: self.titles.get(&block.source).cloned().unwrap_or_default(),
            place: block.place.clone(),
            text: block.text.clone(),
            score: found.score,
            lexical: score_of(words),
            cosine: score_of(near),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
