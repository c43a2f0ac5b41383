//! The names of files that are not whole yet. A start deletes or refuses what they mark.

use std::fs;
use std::path::Path;

/// The file that a data folder holds until everything of the backup is in it. A start refuses such a folder.
pub(crate) const UNFINISHED_RESTORE: &str = "unfinished-restore";

/// End of the names of unfinished files.
pub(crate) const UNFINISHED: &str = ".part";

/// Deletes what a process that ended left unfinished.
pub(super) fn delete_unfinished(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(UNFINISHED) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
