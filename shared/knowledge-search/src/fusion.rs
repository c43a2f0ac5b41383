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

/// The best block by words and the best by vectors have one of so many first places: no model reads more blocks than these.
const FIRST_PLACES: usize = 5;

/// Joins what was found by words and what is near by vectors, each best first, and keeps `limit`. What points away from the question
/// has nothing to do with it. Where the ranks alone would leave the best block of a way out of the first five, it has one of the last of
/// these places: else a block that says the same in other words would stand behind every block that shares any word with the question. The
/// product and its evaluation join by this function.
pub fn join_both_ways(words: &[Found], near: &[Found], limit: usize) -> Vec<Found> {
    let near: Vec<Found> = near.iter().filter(|found| found.score > 0.0).copied().collect();
    let mut joined = fuse_ranks(&[(LEXICAL_WEIGHT, words), (1.0, &near)], usize::MAX);
    give_first_places(
        &mut joined,
        [words.first(), near.first()],
        FIRST_PLACES.min(limit),
    );
    joined.truncate(limit);
    joined
}

/// Moves those of `best` that stand behind the first `places` into them, in the place of the last others there. Scores stay where they
/// are, so that they fall from the first place to the last.
fn give_first_places(joined: &mut [Found], best: [Option<&Found>; 2], places: usize) {
    let blocks: Vec<usize> = joined.iter().map(|found| found.block).collect();
    let best: Vec<usize> = best.into_iter().flatten().map(|found| found.block).collect();
    let (first, behind) = blocks.split_at(places.min(blocks.len()));
    let mut missing: Vec<usize> = best
        .iter()
        .copied()
        .filter(|block| !first.contains(block))
        .collect();
    missing.dedup();
    let others = first.iter().filter(|block| !best.contains(block)).count();
    let mut room = others.saturating_sub(missing.len());
    let (kept, displaced): (Vec<usize>, Vec<usize>) = first.iter().partition(|block| {
        let stays = best.contains(block) || room > 0;
        room -= usize::from(stays && !best.contains(block));
        stays
    });
    let behind = behind.iter().copied().filter(|block| !missing.contains(block));
    let order: Vec<usize> = [&kept[..], &missing, &displaced].concat();
    for (found, block) in joined.iter_mut().zip(order.into_iter().chain(behind)) {
        found.block = block;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    fn blocks(found: &[Found]) -> Vec<usize> {
        found.iter().map(|found| found.block).collect()
    }

    #[test]
    fn a_block_with_the_questions_own_vector_is_among_the_five_whatever_words_others_share() {
        let words = list(&[1, 2, 3, 4, 5, 6]);
        let mut near = list(&[9]);
        for block in [7, 8] {
            near.push(Found { block, score: 0.3 });
        }
        let joined = join_both_ways(&words, &near, 10);
        assert_eq!(blocks(&joined), [1, 2, 3, 4, 9, 5, 6, 7, 8]);
        assert!(joined.is_sorted_by(|a, b| a.score >= b.score), "{joined:?}");
        assert_eq!(blocks(&join_both_ways(&words, &near, 5)), [1, 2, 3, 4, 9]);
        assert_eq!(blocks(&join_both_ways(&words, &near, 2)), [1, 9]);
        assert_eq!(blocks(&join_both_ways(&words, &near, 1)), [1]);
        let away = [Found {
            block: 9,
            score: -0.1,
        }];
        assert_eq!(blocks(&join_both_ways(&words, &away, 5)), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_best_of_both_ways_are_among_the_five_even_where_five_others_are_in_both_lists() {
        let words = list(&[0, 2, 3, 4, 5, 6, 7]);
        let near = list(&[1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(blocks(&join_both_ways(&words, &near, 5)), [2, 3, 4, 0, 1]);
    }

    proptest! {
        #[test]
        fn the_best_block_of_either_way_is_in_the_first_five_and_none_is_lost(
            words in prop::collection::hash_set(0_usize..30, 0..20),
            near in prop::collection::hash_set(0_usize..30, 0..20),
        ) {
            let all: std::collections::BTreeSet<usize> = words.union(&near).copied().collect();
            let (words, near): (Vec<_>, Vec<_>) = (words.into_iter().collect(), near.into_iter().collect());
            let joined = blocks(&join_both_ways(&list(&words), &list(&near), 50));
            for best in [words.first(), near.first()].into_iter().flatten() {
                prop_assert!(joined.iter().take(5).any(|block| block == best), "{joined:?}");
            }
            prop_assert_eq!(joined.len(), all.len());
            prop_assert_eq!(joined.into_iter().collect::<std::collections::BTreeSet<_>>(), all);
        }
    }
}
