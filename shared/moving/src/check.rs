//! Checks a folder alone.

use crate::error::MovingError;
use crate::file_copies::read_list;
use crate::manifest::ExportManifest;
use std::path::Path;

/// Checks an export by its checksums: the records, and the files.
pub fn check_export(folder: &Path) -> Result<ExportManifest, MovingError> {
    let (manifest, _) = ExportManifest::read_file(folder)?;
    manifest.check_records(folder)?;
    for copy in read_list(folder)? {
        copy?.check_copy(folder)?;
    }
    Ok(manifest)
}
