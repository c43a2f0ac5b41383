//! Backups of a data folder, also while a process works on it.
//!
//! A backup is a folder: both databases, the large bodies, the files, the kept secrets, and a manifest with the checksum of each.
//! The databases are read in one transaction each, the intake log first: an event that leaves the log meanwhile is in the
//! database, which is read later. Files are never changed under their names, so only what comes and goes needs care.

mod copying;
mod error;
mod manifest;
mod progress;
mod restoring;
mod snapshot;

pub use error::BackupError;
pub use manifest::BackupManifest;
pub use progress::BackupProgress;

use crate::folder::check_format;
use copying::{FolderCopy, begin_folder, copy_file};
use jiff::Timestamp;
use progress::measure_folder;
pub use restoring::restore_backup;
use snapshot::{PinnedSnapshot, open_snapshot};
use std::path::Path;

/// The number of times that a snapshot is taken before the folder is given up as too busy.
const TRIES: usize = 50;

/// The secrets that a first start makes.
const SECRETS: [&str; 2] = ["operator-token", "webhook-secret"];

/// Copies the data folder `data` into the new folder `to`, and returns what is in the copy. A process may work on the folder
/// meanwhile. What was acknowledged before the call is in the copy.
pub fn back_up_folder(
    data: &Path,
    to: &Path,
    now: Timestamp,
    progress: &BackupProgress,
) -> Result<BackupManifest, BackupError> {
    if !data.join("recado.db").is_file() {
        return Err(BackupError::NoDataFolder(data.to_owned()));
    }
    check_format(data).map_err(|error| BackupError::of_data_folder(data, error))?;
    begin_folder(to)?;
    // All is copied, and the copy is read for its checksums.
    progress.expect_bytes(2 * measure_folder(data));
    let mut files = FolderCopy::begin(&data.join("files"), &to.join("files"), progress)?;
    let mut payloads = FolderCopy::begin(&data.join("payloads"), &to.join("payloads"), progress)?;
    // Most files are copied before the snapshot. So little is left to copy while it is held.
    files.copy_all()?;
    let snapshot = take_snapshot(data, &mut files, &mut payloads)?;
    snapshot.copy_into(to, now, progress)?;
    for secret in SECRETS {
        if data.join(secret).is_file() {
            copy_file(&data.join(secret), &to.join(secret), progress)?;
        }
    }
    BackupManifest::describe_and_write(to, now, progress)
}

/// Checks each file of a backup against the manifest, and that there is no other.
pub fn check_backup(from: &Path, progress: &BackupProgress) -> Result<BackupManifest, BackupError> {
    let manifest = BackupManifest::read(from)?;
    progress.expect_bytes(manifest.count_bytes());
    manifest.check_folder(from, progress)?;
    Ok(manifest)
}

/// Takes snapshots until one is found for which every large body and file is there.
fn take_snapshot(
    data: &Path,
    files: &mut FolderCopy<'_>,
    payloads: &mut FolderCopy<'_>,
) -> Result<PinnedSnapshot, BackupError> {
    for _ in 0..TRIES {
        let before = files.list_names()?;
        let snapshot = open_snapshot(data)?;
        let after = files.list_names()?;
        let needed = snapshot.list_payloads()?;
        // What went at this moment may be in the snapshot: the next one does not name it any more.
        if before.is_subset(&after) && payloads.copy_only(&needed)? && files.copy_only(&after)? {
            return Ok(snapshot);
        }
    }
    Err(BackupError::Busy)
}

#[cfg(test)]
mod tests;
