//! The manifest of a backup: its time, its format and the checksum of each file.

use super::error::BackupError;
use super::progress::BackupProgress;
use crate::folder::{UNFINISHED_RESTORE, create_file, sync_folder};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

/// The name of the manifest. It is written last, so a backup without it was cut off.
const FILE: &str = "backup.json";

/// The number of bytes that are read at once.
const PIECE: usize = 256 * 1024;

/// The description of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupManifest {
    /// The version of Recado that made the backup.
    pub recado: String,
    /// The time of the backup. What was acknowledged before it is in it.
    pub taken_at: Timestamp,
    /// The files, in the order of their paths.
    pub files: Vec<BackedUpFile>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackedUpFile {
    /// The path within the backup.
    pub path: String,
    /// The number of bytes.
    pub bytes: u64,
    /// The checksum, in hexadecimal digits.
    pub sha256: String,
}

impl BackupManifest {
    /// Describes the files of the folder `to`, brings all to the disk, and writes the manifest.
    pub(super) fn describe_and_write(
        to: &Path,
        taken_at: Timestamp,
        progress: &BackupProgress,
    ) -> Result<Self, BackupError> {
        let manifest = Self {
            recado: env!("CARGO_PKG_VERSION").to_owned(),
            taken_at,
            files: describe_files(to, progress)?,
        };
        let path = to.join(FILE);
        let failed = |source| BackupError::of_file(&path, source);
        let text = serde_json::to_string_pretty(&manifest).map_err(|error| failed(error.into()))?;
        sync_files(to)?;
        let mut file = create_file(&path).map_err(failed)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| sync_folder(to))
            .map_err(failed)?;
        Ok(manifest)
    }

    /// Reads the manifest of a backup.
    pub(super) fn read(from: &Path) -> Result<Self, BackupError> {
        let path = from.join(FILE);
        let text = fs::read_to_string(&path).map_err(|source| match source.kind() {
            ErrorKind::NotFound => BackupError::NoManifest(from.to_owned()),
            _ => BackupError::of_file(&path, source),
        })?;
        serde_json::from_str(&text).map_err(|_| BackupError::Damaged {
            path: FILE.to_owned(),
            what: "cannot be read",
        })
    }

    /// Checks that the folder holds these files and no other.
    pub(super) fn check_folder(&self, folder: &Path, progress: &BackupProgress) -> Result<(), BackupError> {
        let found = describe_files(folder, progress)?;
        let damaged = |path: &str, what| BackupError::Damaged {
            path: path.to_owned(),
            what,
        };
        for file in &self.files {
            match found.iter().find(|other| other.path == file.path) {
                None => return Err(damaged(&file.path, "is missing")),
                Some(other) if other != file => return Err(damaged(&file.path, "is not as it was written")),
                Some(_) => {}
            }
        }
        let other = found.iter().find(|file| !self.contains(&file.path));
        other.map_or(Ok(()), |file| Err(damaged(&file.path, "does not belong to it")))
    }

    fn contains(&self, path: &str) -> bool {
        self.files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .is_ok()
    }

    /// Returns the number of bytes of all files.
    pub fn count_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the number of stored files and large bodies.
    pub fn count_files(&self) -> usize {
        self.files.iter().filter(|file| file.path.contains('/')).count()
    }
}

/// Describes the files of a folder and of its folders, in the order of their paths. The manifest is left out.
fn describe_files(folder: &Path, progress: &BackupProgress) -> Result<Vec<BackedUpFile>, BackupError> {
    let mut files = Vec::new();
    for part in ["", "files/", "payloads/"] {
        let path = folder.join(part);
        let failed = |source| BackupError::of_file(&path, source);
        let entries = match fs::read_dir(&path) {
            // A tool that copies backups may leave empty folders out.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if [FILE, UNFINISHED_RESTORE].contains(&name.as_str())
                || !entry.file_type().map_err(failed)?.is_file()
            {
                continue;
            }
            files.push(describe_file(format!("{part}{name}"), &entry.path(), progress)?);
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn describe_file(path: String, file: &Path, progress: &BackupProgress) -> Result<BackedUpFile, BackupError> {
    let failed = |source| BackupError::of_file(file, source);
    let mut opened = File::open(file).map_err(failed)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE];
    loop {
        let count = opened.read(&mut piece).map_err(failed)?;
        if count == 0 {
            break;
        }
        hash.update(piece.get(..count).unwrap_or_default());
        bytes += count as u64;
        progress.add_bytes(count as u64);
    }
    let sha256 = hex::encode(hash.finalize());
    Ok(BackedUpFile { path, bytes, sha256 })
}

/// Brings the files of the folder to the disk, with their names.
pub(super) fn sync_files(folder: &Path) -> Result<(), BackupError> {
    let failed = |source| BackupError::of_file(folder, source);
    let opened = File::open(folder).map_err(failed)?;
    // One request for the whole file system, since there may be many files.
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&opened).map_err(|error| failed(error.into()))?;
    #[cfg(not(target_os = "linux"))]
    rustix::fs::sync();
    opened.sync_all().map_err(failed)
}
