//! The log of deliveries as a table of Parquet: a row for each entry, with the columns that its comma-separated values have.

use crate::parquet::{Column, ColumnKind, ParquetWriter, TableCell};
use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::Value;
use std::io::Write;

/// Number of rows in a group.
const GROUP: usize = 5_000;

/// Fields of an entry that are columns of their own.
const FIELDS: [(&str, ColumnKind); 16] = [
    ("id", ColumnKind::Text),
    ("created_at", ColumnKind::Time),
    ("eventId", ColumnKind::Text),
    ("guestId", ColumnKind::Text),
    ("channel", ColumnKind::Text),
    ("template", ColumnKind::Text),
    ("language", ColumnKind::Text),
    ("status", ColumnKind::Text),
    ("is_free", ColumnKind::Flag),
    ("session_id", ColumnKind::Text),
    ("provider_ref", ColumnKind::Text),
    ("message_id", ColumnKind::Text),
    ("duplicate_of", ColumnKind::Text),
    ("error", ColumnKind::Text),
    ("pricing_category", ColumnKind::Text),
    ("simulated", ColumnKind::Flag),
];

/// Statuses of which the time is a column.
const STATUSES: [&str; 5] = ["sent", "delivered", "read", "failed", "cancelled"];

/// A table of the log that is being written.
pub(crate) struct LogTable<W: Write> {
    writer: ParquetWriter<W>,
    waiting: Vec<Vec<TableCell>>,
}

impl<W: Write> LogTable<W> {
    /// Begins a table.
    pub(crate) fn begin(out: W) -> Result<Self> {
        let fields = FIELDS.iter().map(|(name, kind)| ((*name).to_owned(), *kind));
        let times = STATUSES
            .iter()
            .map(|status| (format!("{status}_at"), ColumnKind::Time));
        let metadata = ("metadata".to_owned(), ColumnKind::Text);
        let columns: Vec<Column> = fields.chain(times).chain([metadata]).collect();
        Ok(Self {
            writer: ParquetWriter::begin(out, columns).context("the table cannot be written")?,
            waiting: Vec::new(),
        })
    }

    /// Adds entries, a JSON object on each line.
    pub(crate) fn add_lines(&mut self, lines: &str) -> Result<()> {
        for line in lines.lines().filter(|line| !line.is_empty()) {
            let entry: Value = serde_json::from_str(line).context("the installation's answer is no log")?;
            self.waiting.push(read_row(&entry));
        }
        if self.waiting.len() >= GROUP {
            self.write_waiting()?;
        }
        Ok(())
    }

    fn write_waiting(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        self.writer
            .write_group(&rows)
            .context("the table cannot be written")
    }

    /// Ends the table.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.write_waiting()?;
        self.writer
            .finish()
            .context("the table cannot be written")
            .map(drop)
    }
}

fn read_row(entry: &Value) -> Vec<TableCell> {
    let fields = FIELDS
        .iter()
        .map(|(name, kind)| read_cell(entry.get(*name), *kind));
    let transitions = entry.get("transitions").and_then(Value::as_array);
    let reached = |status: &str| {
        let is_it = |one: &&Value| one.get("status").and_then(Value::as_str) == Some(status);
        transitions?.iter().find(is_it)?.get("at")
    };
    let times = STATUSES
        .iter()
        .map(|status| read_cell(reached(status), ColumnKind::Time));
    let metadata = entry.get("metadata").filter(|value| !value.is_null());
    let metadata = metadata.map_or(TableCell::Missing, |value| TableCell::Text(value.to_string()));
    fields.chain(times).chain([metadata]).collect()
}

fn read_cell(value: Option<&Value>, kind: ColumnKind) -> TableCell {
    let read = match kind {
        ColumnKind::Flag => value.and_then(Value::as_bool).map(TableCell::Flag),
        ColumnKind::Text => value
            .and_then(Value::as_str)
            .map(|text| TableCell::Text(text.to_owned())),
        ColumnKind::Time => {
            let at = value
                .and_then(Value::as_str)
                .and_then(|text| text.parse::<Timestamp>().ok());
            at.map(|at| TableCell::Time(at.as_millisecond()))
        }
    };
    read.unwrap_or(TableCell::Missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_is_a_row_with_its_times_and_metadata() {
        let entry = json!({"id": "inv_1", "created_at": "2026-11-24T13:30:00.5Z", "is_free": true, "language": null,
            "transitions": [{"status": "queued", "at": "2026-11-24T13:30:00Z"}, {"status": "sent", "at": "2026-11-24T13:30:02Z"}],
            "metadata": {"table": 4}});
        let row = read_row(&entry);
        assert_eq!(row.len(), FIELDS.len() + STATUSES.len() + 1);
        assert_eq!(row[0], TableCell::Text("inv_1".to_owned()));
        assert_eq!(row[1], TableCell::Time(1_795_527_000_500));
        assert_eq!((&row[6], &row[8]), (&TableCell::Missing, &TableCell::Flag(true)));
        assert_eq!(
            (&row[16], &row[17]),
            (&TableCell::Time(1_795_527_002_000), &TableCell::Missing)
        );
        assert_eq!(row[21], TableCell::Text("{\"table\":4}".to_owned()));
    }

    #[test]
    fn all_entries_are_in_the_table() {
        let mut written = Vec::new();
        let mut table = LogTable::begin(&mut written).unwrap();
        let lines: Vec<String> = (0..GROUP + 3)
            .map(|number| format!("{{\"id\": \"inv_{number}\"}}\n"))
            .collect();
        let lines = lines.concat();
        table.add_lines(&lines).unwrap();
        table.add_lines("").unwrap();
        table.finish().unwrap();
        let last = format!("inv_{}", GROUP + 2);
        assert!(written.windows(last.len()).any(|some| some == last.as_bytes()));
        assert!(table_of("").ends_with(b"PAR1") && !table_of("").is_empty());
        assert!(LogTable::begin(Vec::new()).unwrap().add_lines("no log").is_err());
    }

    fn table_of(lines: &str) -> Vec<u8> {
        let mut written = Vec::new();
        let mut table = LogTable::begin(&mut written).unwrap();
        table.add_lines(lines).unwrap();
        table.finish().unwrap();
        written
    }
}
