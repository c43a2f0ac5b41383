//! Checks a folder alone.

use crate::error::MovingError;
use crate::file_copies::read_list;
use crate::kinds::MovedKinds;
use crate::manifest::ExportManifest;
use recado_ports::table::Kind;
use std::path::Path;

/// Checks an export by its checksums: the records, and the files. `kinds` are the kinds of the table.
pub fn check_export(kinds: &[Kind], folder: &Path) -> Result<ExportManifest, MovingError> {
    let (manifest, _) = ExportManifest::read_file(folder)?;
    manifest.check_records(MovedKinds::new(kinds), folder)?;
    for copy in read_list(folder)? {
        copy?.check_copy(folder)?;
    }
    Ok(manifest)
}
