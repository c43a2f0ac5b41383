//! Joins the results of two ways by their ranks: reciprocal rank fusion (Cormack, Clarke, Büttcher, 2009).

use crate::{Found, keep_best_blocks};
use std::collections::BTreeMap;

/// The constant of the paper: how much less a later rank counts.
const RANK_OFFSET: f32 = 60.0;

/// Joins lists of blocks, each with its weight, best first, and keeps `limit`. A block's score is the sum of `weight / (60 +
/// rank)` over the lists that hold it.
pub fn fuse_ranks(lists: &[(f32, &[Found])], limit: usize) -> Vec<Found> {
    let mut scores: BTreeMap<usize, f32> = BTreeMap::new();
    for (weight, list) in lists {
        let mut rank = RANK_OFFSET;
        for found in *list {
            rank += 1.0;
            *scores.entry(found.block).or_default() += weight / rank;
        }
    }
    let found = scores
        .into_iter()
        .map(|(block, score)| Found { block, score })
        .collect();
    keep_best_blocks(found, limit)
}

/// The weight of a rank by words; one by vectors has the weight 1. It is the least at which, on the half for tuning, both ways together
/// find no less than words alone, even where the vectors know nothing of meaning ([`crate::evaluation`]).
const LEXICAL_WEIGHT: f32 = 5.0;

/// Joins what was found by words and what is near by vectors, each best first, and keeps `limit`. What points away from the question
/// has nothing to do with it. The product and its evaluation join by this function.
pub fn join_both_ways(words: &[Found], near: &[Found], limit: usize) -> Vec<Found> {
    let near: Vec<Found> = near.iter().filter(|found| found.score > 0.0).copied().collect();
    fuse_ranks(&[(LEXICAL_WEIGHT, words), (1.0, &near)], limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(blocks: &[usize]) -> Vec<Found> {
        blocks
            .iter()
            .map(|block| Found {
                block: *block,
                score: 1.0,
            })
            .collect()
    }

    #[test]
    fn a_block_that_both_lists_hold_is_first() {
        let (words, vectors) = (list(&[1, 2, 3]), list(&[4, 2, 5]));
        let found = fuse_ranks(&[(1.0, &words), (1.0, &vectors)], 3);
        let blocks: Vec<usize> = found.iter().map(|found| found.block).collect();
        assert_eq!(blocks, [2, 1, 4]);
    }

    #[test]
    fn one_list_alone_keeps_its_order() {
        let words = list(&[7, 3, 9]);
        let found = fuse_ranks(&[(1.0, &words), (1.0, &[])], 2);
        assert_eq!(found.iter().map(|found| found.block).collect::<Vec<_>>(), [7, 3]);
    }
}
