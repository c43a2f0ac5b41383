//! Tables, which WhatsApp does not know: each row becomes a line.

use super::inline::{InlineText, LineBreaks};
use super::reference::References;
use crate::config::ReplyFormat;

/// A table.
pub(super) struct MarkdownTable<'a> {
    header: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
}

/// Parses the table that begins with the first of `lines`, of which `text` is the text: a row, a row of dashes, and further rows.
pub(super) fn parse_table_rows<'a>(text: &'a str, lines: &[&'a str]) -> Option<MarkdownTable<'a>> {
    if !text.contains('|') {
        return None;
    }
    let (header, dashes) = (split_row_cells(text), lines.get(1)?);
    if !dashes.contains('|') || !dashes.contains('-') {
        return None;
    }
    let dashes = split_row_cells(dashes);
    if dashes.len() != header.len() || !dashes.iter().all(|cell| is_row_of_dashes(cell)) {
        return None;
    }
    let rows = lines[2..].iter().take_while(|line| line.contains('|'));
    Some(MarkdownTable {
        header,
        rows: rows.map(|line| split_row_cells(line)).collect(),
    })
}

/// Returns `true` for the cell of a row of dashes, such as `:---:`.
fn is_row_of_dashes(cell: &str) -> bool {
    let inner = cell.strip_prefix(':').unwrap_or(cell);
    let inner = inner.strip_suffix(':').unwrap_or(inner);
    !inner.is_empty() && inner.chars().all(|c| c == '-')
}

/// Splits a row at its `|`. One with a backslash before it, or in code, belongs to the cell.
fn split_row_cells(line: &str) -> Vec<&str> {
    let line = line
        .trim_start_matches(|c: char| c.is_whitespace() || c == '>')
        .trim_end();
    let line = line.strip_prefix('|').unwrap_or(line);
    let (mut cells, mut start, mut in_code, mut escaped) = (Vec::new(), 0, false, false);
    let has_code = line.matches('`').count() % 2 == 0;
    for (at, c) in line.char_indices() {
        match c {
            '|' if !in_code && !escaped => {
                cells.push(line[start..at].trim());
                start = at + 1;
            }
            '`' if has_code && !escaped => in_code = !in_code,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    if start < line.len() || cells.is_empty() {
        cells.push(line[start..].trim());
    }
    cells
}

impl MarkdownTable<'_> {
    /// Returns how many lines of the text the table had.
    pub(super) fn count_table_lines(&self) -> usize {
        self.rows.len() + 2
    }

    /// Writes the table as lines. With two columns a row is `*Cleaning*: R$ 90`, with more it names the columns: `*Cleaning*: Price: R$ 90; Time: 30 min`.
    pub(super) fn write_row_lines(
        &self,
        prefix: &str,
        references: &mut References,
        format: ReplyFormat,
    ) -> String {
        let mut write = |cell: &str, is_bold: bool| {
            let text = InlineText::from_joined_lines(&[cell], &[]);
            if is_bold {
                text.write_all_in_bold(LineBreaks::Spaces, references, format)
            } else {
                text.write_with_marks(LineBreaks::Spaces, references, format)
            }
        };
        let names_columns = self.header.len() > 2 && !self.rows.is_empty();
        let title = if names_columns {
            self.header[0].to_owned()
        } else {
            join_named_cells(self.header.iter().map(|cell| (*cell).to_owned()))
        };
        let title = write(&title, true);
        let mut lines = Vec::new();
        if !title.is_empty() {
            lines.push(format!("{prefix}{title}"));
        }
        for row in &self.rows {
            let Some((first, others)) = row.split_first() else {
                continue;
            };
            let is_bold = !others.iter().all(|cell| cell.is_empty());
            let first = write(first.trim_end_matches(':'), is_bold);
            let others = others.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
            let others: Vec<String> = others
                .map(|(number, cell)| {
                    let cell = write(cell, false);
                    let column = self
                        .header
                        .get(number + 1)
                        .filter(|name| names_columns && !name.is_empty());
                    match column {
                        Some(column) => format!("{}: {cell}", write(column.trim_end_matches(':'), false)),
                        None => cell,
                    }
                })
                .collect();
            let line = join_named_cells([first, others.join("; ")].into_iter());
            if !line.is_empty() {
                lines.push(format!("{prefix}{line}"));
            }
        }
        lines.join("\n")
    }
}

/// Joins the first cell with the others, without those that are empty.
fn join_named_cells(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.filter(|cell| !cell.is_empty()).collect();
    match cells.split_first() {
        Some((first, others)) if !others.is_empty() => format!("{first}: {}", others.join("; ")),
        _ => cells.concat(),
    }
}
