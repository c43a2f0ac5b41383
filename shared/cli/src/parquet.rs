//! Writes tables as Parquet (<https://parquet.apache.org/docs/file-format/>): the part of the format that such a table needs. A column is
//! plain, not compressed, and may lack values; each row group has one page of each column. Programs for Parquet pull in dozens of crates.

mod thrift;

use std::io::{self, Write};
use thrift::{Fields, Value};

/// The four bytes with which a file begins and ends.
const MAGIC: &[u8; 4] = b"PAR1";

// Numbers of the format's definition (`parquet.thrift`).
const TYPE_BOOLEAN: i64 = 0;
const TYPE_INT64: i64 = 2;
const TYPE_BYTE_ARRAY: i64 = 6;
const CONVERTED_UTF8: i64 = 0;
const CONVERTED_TIMESTAMP_MILLIS: i64 = 9;
const OPTIONAL: i64 = 1;
const ENCODING_PLAIN: i64 = 0;
const ENCODING_RLE: i64 = 3;
const UNCOMPRESSED: i64 = 0;
const DATA_PAGE: i64 = 0;
const FORMAT_VERSION: i64 = 1;

/// The kind of values in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Texts.
    Text,
    /// Instants, in milliseconds since 1970.
    Time,
    /// Yes or no.
    Flag,
}

/// A value in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TableCell {
    /// No value.
    Missing,
    /// A text.
    Text(String),
    /// An instant, in milliseconds since 1970.
    Time(i64),
    /// Yes or no.
    Flag(bool),
}

impl ColumnKind {
    fn physical_type(self) -> i64 {
        match self {
            Self::Text => TYPE_BYTE_ARRAY,
            Self::Time => TYPE_INT64,
            Self::Flag => TYPE_BOOLEAN,
        }
    }

    fn converted_type(self) -> Option<i64> {
        match self {
            Self::Text => Some(CONVERTED_UTF8),
            Self::Time => Some(CONVERTED_TIMESTAMP_MILLIS),
            Self::Flag => None,
        }
    }

    /// Returns `true` if the cell holds a value of this kind.
    fn holds(self, cell: &TableCell) -> bool {
        matches!(
            (self, cell),
            (Self::Text, TableCell::Text(_))
                | (Self::Time, TableCell::Time(_))
                | (Self::Flag, TableCell::Flag(_))
        )
    }
}

/// A column: its name, and the kind of its values.
pub(crate) type Column = (String, ColumnKind);

/// Writes rows into a file, group by group.
pub(crate) struct ParquetWriter<W> {
    out: W,
    columns: Vec<Column>,
    offset: i64,
    rows: i64,
    groups: Vec<Value>,
}

impl<W: Write> ParquetWriter<W> {
    /// Begins a file.
    pub(crate) fn begin(mut out: W, columns: Vec<Column>) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            columns,
            offset: count(MAGIC.len()),
            rows: 0,
            groups: Vec::new(),
        })
    }

    /// Writes a group of rows. A cell whose value is of another kind than its column counts as missing.
    pub(crate) fn write_group(&mut self, rows: &[Vec<TableCell>]) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let (begin, mut chunks) = (self.offset, Vec::new());
        for place in 0..self.columns.len() {
            let (name, kind) = &self.columns[place];
            let (name, kind) = (name.clone(), *kind);
            let cells = rows
                .iter()
                .map(|row| row.get(place).unwrap_or(&TableCell::Missing));
            let cells: Vec<Option<&TableCell>> = cells
                .map(|cell| Some(cell).filter(|cell| kind.holds(cell)))
                .collect();
            let (offset, size) = (self.offset, self.write_page(&cells)?);
            let described = Fields::new()
                .with(1, Value::I32(kind.physical_type()))
                .with(2, Value::I32s(vec![ENCODING_PLAIN, ENCODING_RLE]))
                .with(3, Value::Texts(vec![name]))
                .with(4, Value::I32(UNCOMPRESSED))
                .with(5, Value::I64(count(rows.len())))
                .with(6, Value::I64(size))
                .with(7, Value::I64(size))
                .with(9, Value::I64(offset));
            let chunk = Fields::new()
                .with(2, Value::I64(offset))
                .with(3, described.into_value());
            chunks.push(chunk.into_value());
        }
        self.rows += count(rows.len());
        let group = Fields::new()
            .with(1, Value::Structs(chunks))
            .with(2, Value::I64(self.offset - begin))
            .with(3, Value::I64(count(rows.len())));
        self.groups.push(group.into_value());
        Ok(())
    }

    /// Writes a page of a column. Returns its size with its header.
    fn write_page(&mut self, cells: &[Option<&TableCell>]) -> io::Result<i64> {
        let mut page = encode_levels(cells);
        encode_values(cells, &mut page);
        let of_data = Fields::new()
            .with(1, Value::I32(count(cells.len())))
            .with(2, Value::I32(ENCODING_PLAIN))
            .with(3, Value::I32(ENCODING_RLE))
            .with(4, Value::I32(ENCODING_RLE));
        let header = Fields::new()
            .with(1, Value::I32(DATA_PAGE))
            .with(2, Value::I32(count(page.len())))
            .with(3, Value::I32(count(page.len())))
            .with(5, of_data.into_value())
            .into_bytes();
        self.out.write_all(&header)?;
        self.out.write_all(&page)?;
        let size = count(header.len() + page.len());
        self.offset += size;
        Ok(size)
    }

    /// Ends the file with its description, and returns what it was written to.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let root = Fields::new()
            .with(4, Value::Text("log".to_owned()))
            .with(5, Value::I32(count(self.columns.len())));
        let mut schema = vec![root.into_value()];
        schema.extend(self.columns.iter().map(|(name, kind)| {
            let column = Fields::new()
                .with(1, Value::I32(kind.physical_type()))
                .with(3, Value::I32(OPTIONAL))
                .with(4, Value::Text(name.clone()));
            match kind.converted_type() {
                Some(converted) => column.with(6, Value::I32(converted)).into_value(),
                None => column.into_value(),
            }
        }));
        let footer = Fields::new()
            .with(1, Value::I32(FORMAT_VERSION))
            .with(2, Value::Structs(schema))
            .with(3, Value::I64(self.rows))
            .with(4, Value::Structs(self.groups))
            .with(6, Value::Text("recado".to_owned()))
            .into_bytes();
        self.out.write_all(&footer)?;
        self.out.write_all(&length(footer.len()))?;
        self.out.write_all(MAGIC)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns a length as four bytes.
fn length(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

/// Encodes which cells have a value, as runs of equal ones.
fn encode_levels(cells: &[Option<&TableCell>]) -> Vec<u8> {
    let mut runs = Vec::new();
    for run in cells.chunk_by(|a, b| a.is_some() == b.is_some()) {
        thrift::write_varint(run.len() as u64 * 2, &mut runs);
        runs.push(u8::from(run.first().is_some_and(Option::is_some)));
    }
    let mut levels = length(runs.len()).to_vec();
    levels.append(&mut runs);
    levels
}

/// Encodes the values of the cells that have one.
fn encode_values(cells: &[Option<&TableCell>], into: &mut Vec<u8>) {
    let mut flags: Vec<bool> = Vec::new();
    for cell in cells.iter().flatten() {
        match cell {
            TableCell::Text(text) => {
                into.extend(length(text.len()));
                into.extend(text.as_bytes());
            }
            TableCell::Time(millis) => into.extend(millis.to_le_bytes()),
            TableCell::Flag(flag) => flags.push(*flag),
            TableCell::Missing => {}
        }
    }
    let bits = |eight: &[bool]| {
        eight
            .iter()
            .rev()
            .fold(0, |byte, flag| byte << 1 | u8::from(*flag))
    };
    into.extend(flags.chunks(8).map(bits));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let named = |name: &str, kind| (name.to_owned(), kind);
        vec![
            named("id", ColumnKind::Text),
            named("at", ColumnKind::Time),
            named("free", ColumnKind::Flag),
        ]
    }

    fn row(id: &str, at: Option<i64>, free: Option<bool>) -> Vec<TableCell> {
        vec![
            TableCell::Text(id.to_owned()),
            at.map_or(TableCell::Missing, TableCell::Time),
            free.map_or(TableCell::Missing, TableCell::Flag),
        ]
    }

    fn write(groups: &[Vec<Vec<TableCell>>]) -> Vec<u8> {
        let mut writer = ParquetWriter::begin(Vec::new(), columns()).unwrap();
        for group in groups {
            writer.write_group(group).unwrap();
        }
        writer.finish().unwrap()
    }

    /// `pyarrow.parquet.read_table` reads this file as the rows from which it is made.
    #[test]
    fn a_file_is_the_one_that_another_reader_was_shown() {
        let rows = vec![
            row("inv_1", Some(0), Some(true)),
            row("çé", None, None),
            row("", Some(-1), Some(false)),
        ];
        let more = vec![row("z", Some(1_772_000_000_123), None)];
        let written = write(&[rows, more]);
        assert_eq!(written, include_bytes!("parquet/sample.parquet"));
    }

    #[test]
    fn a_file_without_rows_has_its_columns() {
        let written = write(&[vec![]]);
        assert!(written.starts_with(MAGIC) && written.ends_with(MAGIC));
        let footer = usize::try_from(u32::from_le_bytes(
            written[written.len() - 8..][..4].try_into().unwrap(),
        ))
        .unwrap();
        assert_eq!(written.len(), 4 + footer + 8);
        assert!(written.windows(4).any(|some| some == b"free"));
    }

    #[test]
    fn a_value_of_another_kind_is_missing() {
        let odd = vec![vec![
            TableCell::Flag(true),
            TableCell::Text("x".to_owned()),
            TableCell::Missing,
        ]];
        assert_eq!(
            write(&[odd]),
            write(&[vec![vec![
                TableCell::Missing,
                TableCell::Missing,
                TableCell::Missing
            ]]])
        );
    }
}
