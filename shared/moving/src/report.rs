//! The results of moves, as lines for people and as JSON. The programs of both places tell them alike.

use crate::{ExportManifest, ImportReport, MovingStep};
use serde_json::{Value, json};
use std::fmt;

impl fmt::Display for MovingStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Records => "records",
            Self::Files => "files",
            Self::Check => "comparing",
        })
    }
}

impl ExportManifest {
    /// Describes the content of the export on a line.
    pub fn describe_content(&self) -> String {
        let (taken_at, records, files) = (self.taken_at, self.count_records(), self.files.count);
        format!("the state of {taken_at:.0}, {records} records, {files} files")
    }

    /// Returns the export as JSON for programs.
    pub fn summarize_as_json(&self) -> Value {
        json!({
            "recado": self.recado, "taken_at": self.taken_at, "records": self.count_records(), "files": self.files.count,
            "bytes": self.files.bytes,
        })
    }
}

impl ImportReport {
    /// Lists lines for people: how much was imported, and what was left out.
    pub fn list_lines(&self) -> Vec<String> {
        if self.was_finished {
            return vec!["This export was imported before. Nothing was changed".to_owned()];
        }
        let (records, files, expired) = (self.records, self.manifest.files.count, self.expired);
        let mut lines = vec![format!("Imported and compared: {records} records, {files} files")];
        if expired > 0 {
            lines.push(format!(
                "{expired} records expired since the export, and were left out"
            ));
        }
        let left_out = self.left_out.iter();
        lines.extend(
            left_out.map(|(kind, count)| format!("Left out, since they are not kept here: {count} {kind}")),
        );
        lines
    }

    /// Returns the result as JSON for programs.
    pub fn summarize_as_json(&self) -> Value {
        json!({
            "records": self.records, "files": self.manifest.files.count, "expired": self.expired, "left_out": self.left_out,
            "was_finished": self.was_finished,
        })
    }
}
