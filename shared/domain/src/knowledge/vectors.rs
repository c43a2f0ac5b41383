//! Vectors of an embedding model, in two bytes per dimension.
//!
//! A value is `scale * (high + low / 254)`: the high byte alone serves to find the nearest vectors roughly, both together to compare
//! these. A cosine of both bytes differs from that of the numbers themselves by less than 0.0001.

use super::BlockHash;
use std::collections::HashMap;

/// The number of steps of the low byte in one step of the high byte.
const LOW_STEPS: f32 = 254.0;

/// Bytes of a row beside its dimensions: the number of its block, and its scale.
const ROW_HEAD_BYTES: usize = 8;

/// Bytes at the end of a snapshot's file for each vector outside of it, in earlier builds.
const OUTSIDE_BYTES: usize = 12;

/// Vectors of equal dimensions, one after the other. Each has the length 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VectorRows {
    dimensions: usize,
    scales: Vec<f32>,
    high: Vec<i8>,
    low: Vec<i8>,
}

/// A vector that does not belong to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a vector has {got} dimensions, the others have {expected}")]
pub struct OtherDimension {
    /// The dimensions of the others.
    pub expected: usize,
    /// Those of the vector.
    pub got: usize,
}

impl VectorRows {
    /// Creates rows for vectors of these dimensions.
    pub fn of_dimensions(dimensions: usize) -> Self {
        Self {
            dimensions,
            ..Self::default()
        }
    }

    /// Returns the number of dimensions of each vector.
    pub fn count_dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the number of vectors.
    pub fn count_vector_rows(&self) -> usize {
        self.scales.len()
    }

    /// Returns `true` if there are no vectors.
    pub fn has_no_vectors(&self) -> bool {
        self.scales.is_empty()
    }

    /// Appends a vector, whatever its length.
    pub fn append_new_vector(&mut self, vector: &[f32]) -> Result<(), OtherDimension> {
        self.check_dimensions(vector)?;
        let vector = normalize_length(vector);
        let largest = vector
            .iter()
            .fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
        self.scales.push(scale);
        for value in vector {
            let steps = value / scale;
            let high = steps.round();
            self.high.push(truncate_to_byte(high));
            self.low
                .push(truncate_to_byte(((steps - high) * LOW_STEPS).round()));
        }
        Ok(())
    }

    /// Appends a row of other rows of the same dimensions. A row that they do not have changes nothing.
    fn append_row_from(&mut self, others: &Self, row: usize) {
        let span = others.find_row_range(row);
        if let (Some(scale), Some(high), Some(low)) = (
            others.scales.get(row),
            others.high.get(span.clone()),
            others.low.get(span),
        ) {
            self.scales.push(*scale);
            self.high.extend_from_slice(high);
            self.low.extend_from_slice(low);
        }
    }

    /// Refuses a vector of other dimensions.
    pub fn check_dimensions(&self, vector: &[f32]) -> Result<(), OtherDimension> {
        let (expected, got) = (self.dimensions, vector.len());
        if expected == got {
            Ok(())
        } else {
            Err(OtherDimension { expected, got })
        }
    }

    fn find_row_range(&self, row: usize) -> std::ops::Range<usize> {
        let start = row.saturating_mul(self.dimensions);
        start..start.saturating_add(self.dimensions)
    }

    /// Returns each row's high bytes with its scale, by which they are multiplied.
    pub fn iter_rough_rows(&self) -> impl Iterator<Item = (&[i8], f32)> {
        let rows = self.high.chunks_exact(self.dimensions.max(1));
        rows.zip(self.scales.iter().copied())
    }

    /// Returns the cosine between a row and a vector of the length 1 and of the same dimensions.
    pub fn compute_cosine(&self, row: usize, vector: &[f32]) -> f32 {
        let span = self.find_row_range(row);
        let (Some(scale), Some(high), Some(low)) = (
            self.scales.get(row),
            self.high.get(span.clone()),
            self.low.get(span),
        ) else {
            return 0.0;
        };
        let products = high.iter().zip(low).zip(vector);
        let sum: f32 = products
            .map(|((high, low), value)| (f32::from(*high) + f32::from(*low) / LOW_STEPS) * value)
            .sum();
        sum * scale
    }
}

#[expect(clippy::cast_possible_truncation, reason = "at most 127, by the scale")]
fn truncate_to_byte(steps: f32) -> i8 {
    steps as i8
}

/// Returns a vector of the same direction and of the length 1.
pub fn normalize_length(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    let length = if length > 0.0 { length } else { 1.0 };
    vector.iter().map(|value| value / length).collect()
}

/// Vectors that a model made, by the hashes of their blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MadeVectors {
    pub(super) model: String,
    pub(super) rows: VectorRows,
    places: HashMap<BlockHash, usize>,
}

impl MadeVectors {
    /// Creates the vectors of a model that made none yet.
    pub fn begin_for_model(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            ..Self::default()
        }
    }

    /// Adds the vector of a block.
    pub fn add_made_vector(&mut self, block: BlockHash, vector: &[f32]) -> Result<(), OtherDimension> {
        if self.rows.has_no_vectors() {
            self.rows = VectorRows::of_dimensions(vector.len());
        }
        self.rows.append_new_vector(vector)?;
        self.places.insert(block, self.rows.count_vector_rows() - 1);
        Ok(())
    }

    /// Returns `true` if there are no vectors.
    pub fn has_no_vectors(&self) -> bool {
        self.rows.has_no_vectors()
    }

    pub(super) fn find_vector_row(&self, block: &BlockHash) -> Option<(&VectorRows, usize)> {
        self.places.get(block).map(|row| (&self.rows, *row))
    }
}

/// The vectors of a snapshot's blocks, all of one model. Blocks may have none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SnapshotVectors {
    /// Name of the model.
    pub model: String,
    /// The vectors.
    pub rows: VectorRows,
    /// The number of the block of each row, ascending.
    pub blocks: Vec<u32>,
}

impl SnapshotVectors {
    pub(super) fn begin_for_model(model: &str, dimensions: usize) -> Self {
        Self {
            model: model.to_owned(),
            rows: VectorRows::of_dimensions(dimensions),
            blocks: Vec::new(),
        }
    }

    /// Returns `true` if no block has a vector.
    pub(super) fn has_no_blocks(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Appends the vector of the next block that has one.
    pub(super) fn append_row_from(&mut self, block: usize, others: &VectorRows, row: usize) {
        if let Ok(block) = u32::try_from(block)
            && row < others.count_vector_rows()
        {
            self.blocks.push(block);
            self.rows.append_row_from(others, row);
        }
    }

    /// Returns the number of bytes of one row more.
    pub(super) fn count_row_bytes(&self) -> usize {
        count_row_bytes(self.rows.dimensions)
    }

    /// Returns `true` if the block with this number has a vector.
    pub fn has_vector_of_block(&self, block: usize) -> bool {
        u32::try_from(block).is_ok_and(|block| self.blocks.binary_search(&block).is_ok())
    }

    /// Appends the rows to a snapshot's file.
    pub(super) fn append_to_file(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.blocks.iter().flat_map(|block| block.to_le_bytes()));
        bytes.extend(self.rows.scales.iter().flat_map(|scale| scale.to_le_bytes()));
        bytes.extend(self.rows.high.iter().map(|value| value.cast_unsigned()));
        bytes.extend(self.rows.low.iter().map(|value| value.cast_unsigned()));
    }

    /// Reads so many rows from the end of a snapshot's file, and leaves out what it says of `outside` vectors. `None`: the end has
    /// another size.
    pub(super) fn parse_file_rows(
        model: String,
        dimensions: usize,
        (rows, outside): (usize, usize),
        bytes: &[u8],
    ) -> Option<Self> {
        let inside = rows.checked_mul(count_row_bytes(dimensions))?;
        if inside.checked_add(outside.checked_mul(OUTSIDE_BYTES)?) != Some(bytes.len()) {
            return None;
        }
        let (blocks, rest) = bytes.split_at_checked(rows * 4)?;
        let (scales, rest) = rest.split_at_checked(rows * 4)?;
        let (high, rest) = rest.split_at_checked(rows * dimensions)?;
        let (low, _) = rest.split_at_checked(rows * dimensions)?;
        let signed = |bytes: &[u8]| bytes.iter().map(|value| value.cast_signed()).collect();
        Some(Self {
            model,
            rows: VectorRows {
                dimensions,
                scales: split_into_words(scales).map(f32::from_le_bytes).collect(),
                high: signed(high),
                low: signed(low),
            },
            blocks: split_into_words(blocks).map(u32::from_le_bytes).collect(),
        })
    }
}

fn count_row_bytes(dimensions: usize) -> usize {
    dimensions.saturating_mul(2).saturating_add(ROW_HEAD_BYTES)
}

fn split_into_words(bytes: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    bytes.as_chunks::<4>().0.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_vector_of_other_dimensions_is_refused() {
        let mut rows = VectorRows::of_dimensions(2);
        rows.append_new_vector(&[3.0, 4.0]).unwrap();
        let refused = rows.append_new_vector(&[1.0]);
        assert_eq!(refused, Err(OtherDimension { expected: 2, got: 1 }));
        assert_eq!((rows.count_vector_rows(), rows.count_dimensions()), (1, 2));
        assert!((rows.compute_cosine(0, &[0.6, 0.8]) - 1.0).abs() < 1e-4);
        assert!(rows.compute_cosine(1, &[0.6, 0.8]).abs() < f32::EPSILON);
    }

    #[test]
    fn a_vector_of_zeros_is_near_nothing() {
        let mut rows = VectorRows::of_dimensions(2);
        rows.append_new_vector(&[0.0, 0.0]).unwrap();
        assert!(rows.compute_cosine(0, &[1.0, 0.0]).abs() < f32::EPSILON);
    }

    proptest! {
        #[test]
        fn a_cosine_is_nearly_exact(
            row in proptest::collection::vec(-1.0_f32..1.0, 48),
            question in proptest::collection::vec(-1.0_f32..1.0, 48),
        ) {
            let mut rows = VectorRows::of_dimensions(48);
            rows.append_new_vector(&row).unwrap();
            let (row, question) = (normalize_length(&row), normalize_length(&question));
            let exact: f32 = row.iter().zip(&question).map(|(left, right)| left * right).sum();
            let found = rows.compute_cosine(0, &question);
            prop_assert!((exact - found).abs() < 1e-4, "{exact} {found}");
        }
    }
}
