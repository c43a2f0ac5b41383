//! Finds blocks by the vectors of an embedding model: all are compared by one byte per dimension, and the best by two.

use crate::{Found, keep_best_blocks};
use multiversion::multiversion;
use recado_domain::knowledge::{OtherDimension, VectorRows, normalize_length};

/// So many blocks for each one that is asked for are compared exactly.
const RESCORED: usize = 10;
/// At least so many are compared exactly.
const RESCORED_MIN: usize = 50;

/// Returns the `limit` rows that are nearest to a question's vector, best first. A score is a cosine; a block's number is its row.
pub fn search_vector_rows(
    rows: &VectorRows,
    question: &[f32],
    limit: usize,
) -> Result<Vec<Found>, OtherDimension> {
    if rows.has_no_vectors() || limit == 0 {
        return Ok(Vec::new());
    }
    rows.check_dimensions(question)?;
    let question = normalize_length(question);
    let rounded = round_to_bytes(&question);
    let best = keep_best_blocks(
        score_rows_roughly(rows, &rounded),
        (limit * RESCORED).max(RESCORED_MIN),
    );
    let exact = best.into_iter().map(|found| Found {
        block: found.block,
        score: rows.compute_cosine(found.block, &question),
    });
    Ok(keep_best_blocks(exact.collect(), limit))
}

/// Returns the score of each row by one byte per dimension, in the order of the rows. It is compiled once for the oldest processors and
/// once for those with AVX2, of which the one for the present processor runs.
#[multiversion(targets("x86_64+avx2"))]
fn score_rows_roughly(rows: &VectorRows, question: &[i8]) -> Vec<Found> {
    let mut scored = Vec::with_capacity(rows.count_vector_rows());
    for (block, (row, scale)) in rows.iter_rough_rows().enumerate() {
        let score = as_score(dot_product_of_bytes(row, question)) * scale;
        scored.push(Found { block, score });
    }
    scored
}

/// An index of vectors in memory. Takes 2 bytes per dimension and block, and 4 per block.
#[derive(Debug, Clone, Default)]
pub struct VectorIndex(VectorRows);

impl VectorIndex {
    /// Builds the index of vectors of equal dimensions. A block's number is its place among them.
    pub fn of_vectors<'a>(vectors: impl IntoIterator<Item = &'a [f32]>) -> Result<Self, OtherDimension> {
        let mut rows = VectorRows::default();
        for vector in vectors {
            if rows.has_no_vectors() {
                rows = VectorRows::of_dimensions(vector.len());
            }
            rows.append_new_vector(vector)?;
        }
        Ok(Self(rows))
    }

    /// Returns the `limit` blocks that are nearest to a question's vector, best first. A score is a cosine.
    pub fn search(&self, question: &[f32], limit: usize) -> Result<Vec<Found>, OtherDimension> {
        search_vector_rows(&self.0, question, limit)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rough score, computed again exactly")]
fn as_score(product: i32) -> f32 {
    product as f32
}

/// Rounds a vector to steps of its largest value divided by 127.
fn round_to_bytes(vector: &[f32]) -> Vec<i8> {
    let largest = vector
        .iter()
        .fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
    #[expect(clippy::cast_possible_truncation, reason = "at most 127 by the division")]
    let round = |value: &f32| (value / largest * 127.0).round() as i8;
    vector.iter().map(round).collect()
}

#[expect(
    clippy::inline_always,
    reason = "it belongs to the loop, which is compiled for several processors"
)]
#[inline(always)]
fn dot_product_of_bytes(left: &[i8], right: &[i8]) -> i32 {
    left.iter()
        .zip(right)
        .map(|(left, right)| i32::from(*left) * i32::from(*right))
        .sum()
}

/// Makes a vector of the parts of three letters of a text, each hashed to one of `dimensions`. A stand-in for an embedding model in
/// evaluations and tests: it knows nothing of meaning, only of similar spelling.
pub fn hash_ngrams(text: &str, dimensions: usize) -> Vec<f32> {
    let characters: Vec<char> = format!(" {} ", text.to_lowercase())
        .chars()
        .map(|character| {
            if character.is_alphanumeric() {
                character
            } else {
                ' '
            }
        })
        .collect();
    let mut vector = vec![0.0; dimensions];
    for gram in characters.windows(3) {
        // FNV-1a.
        let hash = gram.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, character| {
            (hash ^ u64::from(*character)).wrapping_mul(0x0100_0000_01b3)
        });
        let place = usize::try_from(hash >> 16).unwrap_or(0) % dimensions.max(1);
        if let Some(value) = vector.get_mut(place) {
            *value += 1.0;
        }
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_nearest_vector_is_first() {
        let vectors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.7, 0.7, 0.0]];
        let index =
            VectorIndex::of_vectors(vectors.iter().map(<[f32; 3]>::as_slice)).expect("equal dimensions");
        let found = index.search(&[0.1, 2.0, 0.0], 2).expect("equal dimensions");
        assert_eq!(found.iter().map(|found| found.block).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn another_dimension_is_an_error_and_an_empty_index_finds_nothing() {
        let index = VectorIndex::of_vectors([[1.0, 0.0].as_slice()]).expect("one vector");
        assert_eq!(
            index.search(&[1.0], 1),
            Err(OtherDimension { expected: 2, got: 1 })
        );
        assert!(VectorIndex::of_vectors([[1.0].as_slice(), &[1.0, 2.0]]).is_err());
        assert_eq!(VectorIndex::default().search(&[1.0], 1), Ok(Vec::new()));
    }

    #[test]
    fn similar_spelling_is_near() {
        let texts = ["vacina contra a gripe", "estacionamento gratuito"].map(|text| hash_ngrams(text, 256));
        let index = VectorIndex::of_vectors(texts.iter().map(Vec::as_slice)).expect("equal dimensions");
        let found = index
            .search(&hash_ngrams("vasina da gripe", 256), 1)
            .expect("equal dimensions");
        assert_eq!(found[0].block, 0);
    }

    proptest! {
        #[test]
        fn rounding_changes_no_result(
            vectors in proptest::collection::vec(proptest::collection::vec(-1.0_f32..1.0, 16), 1..200),
            question in proptest::collection::vec(-1.0_f32..1.0, 16),
        ) {
            let index = VectorIndex::of_vectors(vectors.iter().map(Vec::as_slice)).expect("equal dimensions");
            let found = index.search(&question, 3).expect("equal dimensions");
            let question = normalize_length(&question);
            let dot_product = |left: &[f32]| -> f32 { left.iter().zip(&question).map(|(left, right)| left * right).sum() };
            let exact = vectors
                .iter()
                .enumerate()
                .map(|(block, vector)| Found { block, score: dot_product(&normalize_length(vector)) });
            let exact = keep_best_blocks(exact.collect(), 3);
            for (found, exact) in found.iter().zip(&exact) {
                prop_assert!((found.score - exact.score).abs() < 1e-4, "{found:?} {exact:?}");
            }
        }
    }
}
