//! The manifest of an export: what is in it, with counts and checksums. It is written last.

use crate::error::MovingError;
use crate::folder::{FILES, RECORDS, WrittenFile, measure_file};
use crate::kinds::MovedKinds;
use jiff::Timestamp;
use recado_domain::moving::{KindTally, RecordKind};
use recado_domain::{OLDEST_EXPORT_FORMAT, RECORD_FORMAT};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The format of the folder.
pub const FORMAT: u32 = 1;

/// The name of the manifest.
const MANIFEST: &str = "manifest.json";

/// The list of files, beside the records.
const LIST: &str = "files.jsonl";

/// The description of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportManifest {
    /// The format of the folder.
    pub format: u32,
    /// The format of the records.
    pub records: u32,
    /// The version of Recado that made the export.
    pub recado: String,
    /// The time of the export. What had expired by then is not in it.
    pub taken_at: Timestamp,
    /// The kinds of records, by their names.
    pub kinds: BTreeMap<String, ExportedKind>,
    /// The files.
    pub files: ExportedFiles,
}

/// The records of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedKind {
    /// Their number and the sum of their hashes.
    #[serde(flatten)]
    pub tally: KindTally,
    /// The checksum of their file.
    pub sha256: String,
}

/// The files of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedFiles {
    /// Their number.
    pub count: u64,
    /// The number of their bytes.
    pub bytes: u64,
    /// The checksum of the list that names each with its own.
    pub sha256: String,
}

impl ExportManifest {
    /// Writes the manifest into a folder.
    pub(crate) fn write_file(&self, folder: &Path) -> Result<(), MovingError> {
        let mut file = WrittenFile::create(folder.join(MANIFEST))?;
        file.append(&serde_json::to_vec_pretty(self)?)?;
        file.finish().map(drop)
    }

    /// Reads the manifest of a folder. Returns it with its checksum, by which a store knows the export again.
    pub(crate) fn read_file(folder: &Path) -> Result<(Self, String), MovingError> {
        let path = folder.join(MANIFEST);
        let text = fs::read(&path).map_err(|source| match source.kind() {
            ErrorKind::NotFound => MovingError::NoManifest(folder.to_owned()),
            _ => MovingError::of_file(&path, source),
        })?;
        let manifest: Self = serde_json::from_slice(&text)
            .map_err(|error| MovingError::damaged(MANIFEST, format!("cannot be read ({error})")))?;
        let reads = OLDEST_EXPORT_FORMAT..=RECORD_FORMAT;
        if manifest.format != FORMAT || !reads.contains(&manifest.records) {
            return Err(MovingError::OtherFormat {
                found: format!("{}.{}", manifest.format, manifest.records),
                known: format!("{FORMAT}.{OLDEST_EXPORT_FORMAT} to {FORMAT}.{RECORD_FORMAT}"),
            });
        }
        let (_, sha256) = measure_file(&path)?.unwrap_or_default();
        Ok((manifest, sha256))
    }

    /// Returns whether the folder holds a whole export.
    pub(crate) fn is_in_folder(folder: &Path) -> bool {
        folder.join(MANIFEST).exists()
    }

    /// Returns the number of records of all kinds.
    pub fn count_records(&self) -> u64 {
        self.kinds.values().map(|kind| kind.tally.count).sum()
    }

    /// Checks the checksum of each file of records, and that of the list of files.
    pub(crate) fn check_records(&self, kinds: MovedKinds<'_>, folder: &Path) -> Result<(), MovingError> {
        for (name, kind) in &self.kinds {
            let known = kinds.find_by_name(name);
            let known =
                known.ok_or_else(|| MovingError::damaged(MANIFEST, format!("names the kind {name}")))?;
            check_file(folder, &records_name(known), &kind.sha256)?;
        }
        check_file(folder, &list_name(), &self.files.sha256)
    }
}

/// Checks a file of the export by its checksum.
pub(crate) fn check_file(folder: &Path, name: &str, sha256: &str) -> Result<(), MovingError> {
    match measure_file(&folder.join(name))? {
        None => Err(MovingError::damaged(name, "is missing")),
        Some((_, found)) if found != sha256 => Err(MovingError::damaged(name, "is not as it was written")),
        Some(_) => Ok(()),
    }
}

/// Returns the name of the file of a kind's records.
fn records_name(kind: RecordKind) -> String {
    format!("{RECORDS}/{}.jsonl", kind.as_str())
}

fn list_name() -> String {
    format!("{FILES}/{LIST}")
}

/// Returns the path of the file of a kind's records.
pub(crate) fn records_path(folder: &Path, kind: RecordKind) -> PathBuf {
    folder.join(records_name(kind))
}

/// Returns the path of the list of files.
pub(crate) fn list_path(folder: &Path) -> PathBuf {
    folder.join(list_name())
}
