//! Makes a data folder of a backup.

use super::copying::{begin_folder, copy_file};
use super::error::BackupError;
use super::manifest::{BackupManifest, sync_files};
use super::progress::BackupProgress;
use crate::folder::{UNFINISHED_RESTORE, check_format, create_file, create_folder, sync_folder};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Checks the backup in the folder `from`, and copies it into the new folder `to`. The first start on that folder doubts what was
/// open when the backup was taken.
pub fn restore_backup(
    from: &Path,
    to: &Path,
    progress: &BackupProgress,
) -> Result<BackupManifest, BackupError> {
    let manifest = BackupManifest::read(from)?;
    // All is checked, copied, and checked in the copy.
    progress.expect_bytes(3 * manifest.count_bytes());
    manifest.check_folder(from, progress)?;
    check_format(from).map_err(|error| BackupError::of_data_folder(from, error))?;
    begin_folder(to)?;
    let failed = |source| BackupError::of_file(to, source);
    let unfinished = to.join(UNFINISHED_RESTORE);
    create_file(&unfinished).map_err(failed)?;
    sync_folder(to).map_err(failed)?;
    for part in ["files", "payloads"] {
        create_folder(&to.join(part)).map_err(failed)?;
    }
    for file in &manifest.files {
        copy_file(&from.join(&file.path), &to.join(&file.path), progress)?;
        close_to_others(&to.join(&file.path))?;
    }
    manifest.check_folder(to, progress)?;
    sync_files(to)?;
    fs::remove_file(&unfinished).map_err(failed)?;
    sync_folder(to).map_err(failed)?;
    Ok(manifest)
}

/// Lets only the owner read and write a file: what carries backups may not keep modes.
fn close_to_others(path: &Path) -> Result<(), BackupError> {
    let closed = fs::set_permissions(path, Permissions::from_mode(0o600));
    closed.map_err(|source| BackupError::of_file(path, source))
}
