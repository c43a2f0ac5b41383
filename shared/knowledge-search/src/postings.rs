//! Scores blocks by the stems of their words, with BM25 ([Robertson and Zaragoza, 2009](https://doi.org/10.1561/1500000019)). The
//! crate that stems the words has an index, too, which takes three times as long to load.

use crate::Found;
use std::collections::HashMap;

/// The weight of a stem that occurs several times in a block.
const REPETITION_WEIGHT: f32 = 1.2;

/// The weight of a block's length: blocks are of similar length, so less than BM25's usual 0.75.
const LENGTH_WEIGHT: f32 = 0.5;

/// The blocks in which each stem occurs, with its weight in each.
#[derive(Default)]
pub(crate) struct Postings {
    by_stem: HashMap<String, Vec<(u32, f32)>>,
    blocks: usize,
}

impl Postings {
    /// Builds the index of blocks, of which each is given by its stems, separated by spaces.
    pub(crate) fn of_blocks(blocks: &[&str]) -> Self {
        let lengths = blocks.iter().map(|stems| stems.split_ascii_whitespace().count());
        let mean_length = as_float(lengths.sum()) / as_float(blocks.len().max(1));
        let mut postings = Self {
            by_stem: HashMap::new(),
            blocks: blocks.len(),
        };
        for (block, stems) in (0..).zip(blocks) {
            let mut stems: Vec<&str> = stems.split_ascii_whitespace().collect();
            let length = as_float(stems.len()) / mean_length;
            stems.sort_unstable();
            for same in stems.chunk_by(|a, b| a == b) {
                postings.add_stem(same[0], block, weigh_stem(as_float(same.len()), length));
            }
        }
        for blocks in postings.by_stem.values_mut() {
            blocks.shrink_to_fit();
        }
        postings
    }

    fn add_stem(&mut self, stem: &str, block: u32, weight: f32) {
        if let Some(blocks) = self.by_stem.get_mut(stem) {
            blocks.push((block, weight));
        } else {
            self.by_stem.insert(stem.to_owned(), vec![(block, weight)]);
        }
    }

    /// Returns `true` if the stem stands in a block.
    pub(crate) fn has_stem(&self, stem: &str) -> bool {
        self.by_stem.contains_key(stem)
    }

    /// Returns the blocks in which any of these stems stands, with their scores, in no order. The stems must differ.
    pub(crate) fn score_blocks<'a>(&self, stems: impl IntoIterator<Item = &'a str>) -> Vec<Found> {
        let mut scores = vec![0.0; self.blocks];
        for stem in stems {
            let blocks = self.by_stem.get(stem).map_or(&[][..], Vec::as_slice);
            let rarity = self.rate_rarity(blocks.len());
            for (block, weight) in blocks {
                if let Some(score) = scores.get_mut(*block as usize) {
                    *score += rarity * weight;
                }
            }
        }
        let found = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0);
        found.map(|(block, score)| Found { block, score }).collect()
    }

    /// Returns the weight of a stem that stands in `blocks` blocks: the fewer, the more it says.
    fn rate_rarity(&self, blocks: usize) -> f32 {
        let (with, all) = (as_float(blocks), as_float(self.blocks));
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }
}

/// Returns the weight of a stem that occurs `times` times in a block of `length` mean lengths.
fn weigh_stem(times: f32, length: f32) -> f32 {
    let full = times + REPETITION_WEIGHT * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
    times * (REPETITION_WEIGHT + 1.0) / full
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a count of millions loses nothing that a score shows"
)]
fn as_float(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(postings: &Postings, stems: &[&str]) -> Vec<usize> {
        let mut found = postings.score_blocks(stems.iter().copied());
        found.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.block.cmp(&b.block)));
        found.into_iter().map(|found| found.block).collect()
    }

    #[test]
    fn a_rare_stem_a_repeated_one_and_a_short_block_count_more() {
        let postings = Postings::of_blocks(&["vacin preç", "preç preç exam", "preç exam sang jejum", "preç"]);
        assert_eq!(best(&postings, &["preç"]), [1, 3, 0, 2]);
        assert_eq!(best(&postings, &["preç", "vacin"])[0], 0);
        assert_eq!(best(&postings, &["exam"]), [1, 2]);
    }

    #[test]
    fn no_block_is_found_by_unknown_stems() {
        let postings = Postings::of_blocks(&["vacin preç", ""]);
        assert!(postings.has_stem("vacin") && !postings.has_stem("bicicl"));
        assert_eq!(best(&postings, &["bicicl"]), Vec::<usize>::new());
        assert_eq!(best(&Postings::of_blocks(&[]), &["preç"]), Vec::<usize>::new());
        assert_eq!(
            best(&Postings::of_blocks(&["", ""]), &["preç"]),
            Vec::<usize>::new()
        );
    }
}
