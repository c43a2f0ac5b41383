//! The form of a snapshot as a file: a line that names the format, the snapshot in JSON, and behind it the vectors.

use super::{KnowledgeSnapshot, SnapshotError};
use crate::knowledge::SnapshotVectors;
use serde::{Deserialize, Serialize};

/// The first bytes of the file of a snapshot without vectors; the digit is the number of the format.
const WITHOUT_VECTORS: &[u8] = b"recado-knowledge-2\n";

/// The first bytes of the file of a snapshot with vectors.
const WITH_VECTORS: &[u8] = b"recado-knowledge-3\n";

/// The description of the vectors.
#[derive(Serialize, Deserialize)]
struct DescribedVectors {
    model: String,
    dimensions: usize,
    rows: usize,
    /// Number of vectors that stood outside of the file, where an earlier build wrote it.
    #[serde(default, skip_serializing)]
    stored: usize,
}

impl KnowledgeSnapshot {
    /// Reads the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        if let Some(body) = bytes.strip_prefix(WITHOUT_VECTORS) {
            return serde_json::from_slice(body).map_err(SnapshotError::Damaged);
        }
        let body = bytes
            .strip_prefix(WITH_VECTORS)
            .ok_or(SnapshotError::OtherFormat)?;
        let (snapshot, rest) = split_off_part(body)?;
        let (described, rows) = split_off_part(rest)?;
        let mut snapshot: Self = serde_json::from_slice(snapshot).map_err(SnapshotError::Damaged)?;
        let described: DescribedVectors =
            serde_json::from_slice(described).map_err(SnapshotError::Damaged)?;
        let counted = (described.rows, described.stored);
        let vectors = SnapshotVectors::parse_file_rows(described.model, described.dimensions, counted, rows);
        snapshot.vectors =
            Some(vectors.ok_or(SnapshotError::CutOff)?).filter(|vectors| !vectors.has_no_blocks());
        Ok(snapshot)
    }

    /// Returns the bytes of the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        let Some(vectors) = &self.vectors else {
            let mut bytes = WITHOUT_VECTORS.to_vec();
            serde_json::to_writer(&mut bytes, self).map_err(SnapshotError::Damaged)?;
            return Ok(bytes);
        };
        let described = DescribedVectors {
            model: vectors.model.clone(),
            dimensions: vectors.rows.count_dimensions(),
            rows: vectors.rows.count_vector_rows(),
            stored: 0,
        };
        let mut bytes = WITH_VECTORS.to_vec();
        append_json_part(&mut bytes, self)?;
        append_json_part(&mut bytes, &described)?;
        vectors.append_to_file(&mut bytes);
        Ok(bytes)
    }
}

/// Appends a part in JSON with its length before it.
fn append_json_part(bytes: &mut Vec<u8>, part: &impl Serialize) -> Result<(), SnapshotError> {
    let part = serde_json::to_vec(part).map_err(SnapshotError::Damaged)?;
    bytes.extend((part.len() as u64).to_le_bytes());
    bytes.extend(part);
    Ok(())
}

/// Splits off a part that [`append_json_part`] wrote.
fn split_off_part(bytes: &[u8]) -> Result<(&[u8], &[u8]), SnapshotError> {
    let (length, rest) = bytes.split_first_chunk().ok_or(SnapshotError::CutOff)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| SnapshotError::CutOff)?;
    rest.split_at_checked(length).ok_or(SnapshotError::CutOff)
}
