//! What the configuration file said when it was applied last: one record of the installation.

use crate::ports::PortResult;
use crate::table::{Record, Table, find_or_new};
use recado_domain::config::AppliedFile;
use recado_domain::ids::TenantId;

/// The place of the record in its partition.
const PLACE: &str = "installation";

impl Record for AppliedFile {
    const KIND: &'static str = "applied-file";
    // A start with a file writes it, also one without entries.
    const IS_IDLE: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        None
    }

    fn build_sort_key(&self) -> String {
        PLACE.to_owned()
    }
}

/// Returns what the file said; nothing if none was applied, or if the record cannot be read.
pub async fn read_applied_file(table: &dyn Table) -> PortResult<AppliedFile> {
    Ok(find_or_new(table, AppliedFile::default()).await?.record)
}
