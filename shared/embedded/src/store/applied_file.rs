use super::installation_values::{select_installation_value, write_installation_value};
use crate::Embedded;
use crate::sql_records::encode_json;
use recado_domain::config::AppliedFile;
use recado_ports::ports::{AppliedFiles, PortResult};
use rusqlite::Connection;

/// The name of what the configuration file said, in the table `installation`.
const APPLIED_FILE: &str = "applied-file";

impl AppliedFiles for Embedded {
    async fn read_applied_file(&self) -> PortResult<AppliedFile> {
        let work = |c: &Connection| select_installation_value(c, APPLIED_FILE);
        Ok(self.run_read("applied_file", work).await?.unwrap_or_default())
    }

    async fn save_applied_file(&self, applied: AppliedFile) -> PortResult<()> {
        self.run_write("save_applied_file", move |c| {
            write_installation_value(c, APPLIED_FILE, &encode_json(&applied)?)
        })
        .await
    }
}
