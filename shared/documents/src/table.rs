//! Tells the rows of a table: each is a paragraph that names the column before each cell.

use crate::text::{TextBuilder, clean_text_line};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The characters that may stand between cells. The one that is most often in the first row does.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// Maximum number of rows in which the names of the columns are looked for.
const TITLE_ROWS_MAX: usize = 10;

/// Maximum number of characters of a column's name.
const NAME_MAX: usize = 200;

/// Maximum number of empty cells that are told between two cells of a row.
#[cfg(feature = "archives")]
const GAP_MAX: usize = 20;

/// Maximum number of columns that have names, and of cells over several rows that are told again at once.
const COLUMNS_MAX: usize = 1_000;

/// Maximum number of bytes of a cell that is told more than once.
pub(crate) const REPEATED_BYTES_MAX: usize = 200;

/// A row of a table.
#[derive(Debug, Default)]
pub(crate) struct TableRow<'a> {
    /// The cells that show something, with their columns.
    pub(crate) cells: Vec<(usize, Cow<'a, str>)>,
    /// A cell of the row reaches over several columns, so it names none.
    pub(crate) is_title: bool,
    /// The comments at its cells.
    pub(crate) comments: Vec<String>,
}

#[cfg(feature = "archives")]
impl TableRow<'_> {
    /// Returns `true` if nothing of the row is told.
    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.comments.is_empty()
    }
}

/// The cells of a sheet that reach over several rows. They are told again in each of these rows that shows something else.
#[cfg(feature = "archives")]
#[derive(Debug, Default)]
pub(crate) struct TallCells<'a> {
    /// By their columns, each with its last row, and whether it reaches over several columns as well.
    cells: BTreeMap<usize, (usize, bool, Cow<'a, str>)>,
}

#[cfg(feature = "archives")]
impl<'a> TallCells<'a> {
    /// Notes a cell that reaches down to the row `last`.
    pub(crate) fn note_tall_cell(&mut self, column: usize, last: usize, is_wide: bool, shown: Cow<'a, str>) {
        self.cells.remove(&column);
        if shown.len() <= REPEATED_BYTES_MAX && self.cells.len() < COLUMNS_MAX {
            self.cells.insert(column, (last, is_wide, shown));
        }
    }

    /// Adds the cells that reach into the row with this number.
    pub(crate) fn repeat_in_row(&mut self, number: usize, row: &mut TableRow<'a>) {
        self.cells.retain(|_, (last, _, _)| *last >= number);
        if row.cells.is_empty() || self.cells.is_empty() {
            return;
        }
        for (column, (_, is_wide, shown)) in &self.cells {
            row.is_title |= is_wide;
            row.cells.push((*column, shown.clone()));
        }
        // The own cells come first, so that they are kept.
        row.cells.sort_by_key(|(column, _)| *column);
        row.cells.dedup_by_key(|(column, _)| *column);
    }
}

/// Writes the rows of one table as text, one after the other.
#[derive(Debug, Default)]
pub(crate) struct TableRowWriter {
    names: ColumnNames,
    has_written_row: bool,
}

/// The names of the columns.
#[derive(Debug)]
enum ColumnNames {
    /// No row has named them yet. So many rows were titles of the table.
    Sought(usize),
    /// Their names.
    Known(BTreeMap<usize, String>),
    /// They have none.
    Missing,
}

impl Default for ColumnNames {
    fn default() -> Self {
        Self::Sought(0)
    }
}

impl TableRowWriter {
    /// Writes a row.
    pub(crate) fn write_table_row(&mut self, row: &TableRow<'_>, text: &mut TextBuilder) {
        let has_names = self.seek_names(row);
        let none = BTreeMap::new();
        let names = match &self.names {
            ColumnNames::Known(names) => names,
            _ => &none,
        };
        let cells = row.cells.iter().filter(|_| !has_names);
        let cells = cells.map(|(column, cell)| (*column, &**cell));
        let is_written = append_table_row(cells, &row.comments, names, text);
        self.has_written_row |= is_written && !names.is_empty();
    }

    /// Looks for the names of the columns in a row, if they are not known. Returns `true` if these are its cells.
    fn seek_names(&mut self, row: &TableRow<'_>) -> bool {
        let ColumnNames::Sought(before) = self.names else {
            return false;
        };
        let filled = row.cells.iter().filter(|(_, cell)| !cell.is_empty()).count();
        if filled == 0 {
            return false;
        }
        if filled > 1 && !row.is_title && is_row_of_names(&row.cells) {
            self.names = ColumnNames::Known(collect_names(&row.cells));
            return true;
        }
        self.names = if (filled == 1 || row.is_title) && before < TITLE_ROWS_MAX {
            ColumnNames::Sought(before + 1)
        } else {
            ColumnNames::Missing
        };
        false
    }

    /// Ends the table. One that has nothing but names is told as it is.
    pub(crate) fn end_whole_table(self, text: &mut TextBuilder) {
        if let ColumnNames::Known(names) = self.names
            && !self.has_written_row
        {
            let cells = names.iter().map(|(column, name)| (*column, name.as_str()));
            append_table_row(cells, &[], &BTreeMap::new(), text);
        }
    }
}

/// Adds a row as a line, whose cells stand side by side.
#[cfg(feature = "archives")]
pub(crate) fn append_plain_row(row: &TableRow<'_>, text: &mut TextBuilder) {
    let mut next = 0;
    for (column, cell) in &row.cells {
        let gap = column.saturating_sub(next).min(GAP_MAX);
        text.append_text_run(&"\t".repeat(gap));
        text.append_text_run(cell);
        next = *column;
    }
    text.end_current_line();
    append_comments(&row.comments, text);
}

/// Adds each comment as a line.
fn append_comments(comments: &[String], text: &mut TextBuilder) {
    for comment in comments {
        text.end_current_line();
        text.append_text_run("[comment] ");
        text.append_text_run(comment);
        text.end_current_line();
    }
}

/// Adds a row and its comments as a paragraph. Returns `true` if it has cells.
fn append_table_row<'a>(
    cells: impl Iterator<Item = (usize, &'a str)>,
    comments: &[String],
    names: &BTreeMap<usize, String>,
    text: &mut TextBuilder,
) -> bool {
    let mut has_begun = false;
    for (column, cell) in cells.filter(|(_, cell)| !cell.is_empty()) {
        if text.is_limit_reached() {
            break;
        }
        if has_begun {
            text.append_text_run("; ");
        }
        has_begun = true;
        if let Some(name) = names.get(&column) {
            text.append_text_run(name);
            text.append_text_run(": ");
        }
        text.append_text_run(cell);
    }
    append_comments(comments, text);
    if has_begun || !comments.is_empty() {
        text.begin_paragraph();
    }
    has_begun
}

fn collect_names(cells: &[(usize, Cow<'_, str>)]) -> BTreeMap<usize, String> {
    let named = cells.iter().take(COLUMNS_MAX);
    let named = named.map(|(column, cell)| (*column, clean_text_line(cell, NAME_MAX)));
    named.filter(|(_, name)| !name.is_empty()).collect()
}

/// Returns `true` if the cells of a row may be names of columns: none of them is a number, a price or a date.
fn is_row_of_names(cells: &[(usize, Cow<'_, str>)]) -> bool {
    let is_value = |cell: &str| {
        let seen = cell.chars().take(NAME_MAX);
        let (digits, alphabetic) = seen.fold((0_usize, 0_usize), |(digits, alphabetic), character| {
            let (is_digit, is_alphabetic) = (character.is_ascii_digit(), character.is_alphabetic());
            (
                digits + usize::from(is_digit),
                alphabetic + usize::from(is_alphabetic),
            )
        });
        digits > alphabetic
    };
    cells.iter().take(COLUMNS_MAX).all(|(_, cell)| !is_value(cell))
}

/// Returns the table without the line by which Excel is told the separator, and that separator. The line may stand in quotes.
pub(crate) fn split_separator_line(table: &str) -> (Option<char>, &str) {
    let quote = if table.starts_with('"') { "\"" } else { "" };
    let inside = &table[quote.len()..];
    let named = inside.get(..4).filter(|start| start.eq_ignore_ascii_case("sep="));
    let line = named.and_then(|_| {
        let mut rest = inside[4..].chars();
        let separator = rest.next()?;
        let after = rest.as_str().strip_prefix(quote)?;
        let after = after.strip_prefix('\r').unwrap_or(after);
        Some((separator, after.strip_prefix('\n')?))
    });
    match line {
        Some((separator, after)) => (Some(separator), after),
        None => (None, table),
    }
}

/// Reads the rows of a CSV file.
pub(crate) fn read_table_rows(table: &str, text: &mut TextBuilder) {
    let (named, table) = split_separator_line(table);
    let mut rest = table.trim_start_matches(['\r', '\n']);
    let separator = named.unwrap_or_else(|| find_separator(rest));
    let mut writer = TableRowWriter::default();
    while !rest.is_empty() && !text.is_limit_reached() {
        let (cells, after) = split_table_row(rest, separator);
        rest = after;
        let row = TableRow {
            cells,
            ..TableRow::default()
        };
        writer.write_table_row(&row, text);
    }
    writer.end_whole_table(text);
}

/// Returns the separator of a table: that of the first line that has one outside of quotes.
fn find_separator(table: &str) -> char {
    let mut lines = table.lines().take(TITLE_ROWS_MAX).map(leave_out_quoted);
    let first = lines.find(|line| line.contains(SEPARATORS)).unwrap_or_default();
    let bytes = first.as_bytes();
    let is_digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    // A comma between digits is a mark within a number as well.
    let count = |separator: &char| {
        let found = first.match_indices(*separator);
        let found = found.filter(|(place, _)| !(is_digit(place.wrapping_sub(1)) && is_digit(place + 1)));
        found.count()
    };
    // Of equal ones the first.
    let best = SEPARATORS.iter().rev().max_by_key(|separator| count(separator));
    best.copied().unwrap_or(',')
}

/// Returns a line without what stands within its quotes, if these are in pairs.
fn leave_out_quoted(line: &str) -> String {
    let parts: Vec<&str> = line.split('"').collect();
    let step = if parts.len() % 2 == 1 { 2 } else { 1 };
    let outside: Vec<&str> = parts.into_iter().step_by(step).collect();
    outside.join("\"")
}

/// Returns the cells of the first row with their columns, and what follows it. Within quotes a separator and a line end are text.
fn split_table_row(table: &str, separator: char) -> (Vec<(usize, Cow<'static, str>)>, &str) {
    let (mut cells, mut cell, mut quoted, mut column) = (Vec::new(), String::new(), false, 0);
    let mut push_cell = |cell: &mut String| {
        let clean = clean_text_line(&std::mem::take(cell), usize::MAX);
        if !clean.is_empty() {
            cells.push((column, Cow::Owned(clean)));
        }
        column += 1;
    };
    let mut rest = table.char_indices().peekable();
    let mut end = table.len();
    // A quote begins a cell only where nothing but white space stands before it.
    let mut is_blank = true;
    while let Some((place, character)) = rest.next() {
        match character {
            '"' if quoted && rest.peek().is_some_and(|(_, next)| *next == '"') => {
                cell.push('"');
                rest.next();
            }
            '"' if quoted || is_blank => quoted = !quoted,
            '\n' | '\r' if !quoted => {
                let is_pair = character == '\r' && rest.peek().is_some_and(|(_, next)| *next == '\n');
                end = place + 1 + usize::from(is_pair);
                break;
            }
            _ if character == separator && !quoted => {
                push_cell(&mut cell);
                is_blank = true;
            }
            _ => {
                is_blank &= character.is_whitespace();
                cell.push(character);
            }
        }
    }
    push_cell(&mut cell);
    (cells, &table[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &str) -> String {
        let mut text = TextBuilder::with_limits(1_000, 10_000);
        text.keep_lines_unmarked();
        read_table_rows(table, &mut text);
        text.into_document_text().text
    }

    #[test]
    fn each_row_names_its_columns() {
        assert_eq!(
            read("Service;Price;Note\r\nCleaning;90;\"with \"\"care\"\"; 1 h\"\r\n;;\r\nX-ray;40"),
            "Service: Cleaning; Price: 90; Note: with \"care\"; 1 h\n\nService: X-ray; Price: 40"
        );
        assert_eq!(read("a,b\n\"one\ntwo\",3\n"), "a: one two; b: 3");
        assert_eq!(read("a,b\rone,3\r"), "a: one; b: 3");
    }

    #[test]
    fn the_line_that_names_the_separator_is_no_row() {
        assert_eq!(read("sep=|\r\na|b,c\r\n1|2,3\r\n"), "a: 1; b,c: 2,3");
        assert_eq!(read("sep=;\nCode;Name\n007;Bond"), "Code: 007; Name: Bond");
        assert_eq!(
            read("\"sep=;\"\r\nCode;Name\r\n007;Bond"),
            "Code: 007; Name: Bond"
        );
        assert_eq!(read("\"SEP=\t\"\na\tb,c\n1\t2,3\n"), "a: 1; b,c: 2,3");
        assert_eq!(read("\"sep=;\";x\n1;2"), "sep=;: 1; x: 2");
        assert_eq!(read("sep=not,a\nfirst,line"), "sep=not: first; a: line");
    }

    #[test]
    fn a_separator_within_quotes_is_text() {
        assert_eq!(read("\"a, b\";\"c, d\"\n\"e, f\";90"), "a, b: e, f; c, d: 90");
        assert_eq!(read("\"a, b\"\nc;d\ne;90"), "a, b\n\nc: e; d: 90");
        assert_eq!(read("inch\";d\ne;90"), "inch\": e; d: 90");
    }

    #[test]
    fn rows_before_the_names_are_titles_of_the_table() {
        assert_eq!(
            read("Prices of 2031;;\n;;\nService;Adult;Child\nCleaning;90;60\n"),
            "Prices of 2031\n\nService: Cleaning; Adult: 90; Child: 60"
        );
    }

    #[test]
    fn a_table_without_names_a_list_and_names_alone_are_told_as_they_are() {
        assert_eq!(read("Cleaning,90\nX-ray,40"), "Cleaning; 90\n\nX-ray; 40");
        assert_eq!(
            read("Cleaning;R$ 90,00\nX-ray;R$ 40,00"),
            "Cleaning; R$ 90,00\n\nX-ray; R$ 40,00"
        );
        assert_eq!(read("one\ntwo"), "one\n\ntwo");
        assert_eq!(read("Service,Price\n"), "Service; Price");
        assert_eq!(read("#a,b\n# c,`d"), "#a: # c; b: `d".replacen('#', "    #", 1));
        assert_eq!(read(""), "");
        assert_eq!(read("\"open"), "open");
    }

    #[test]
    fn a_name_of_a_column_is_cut_and_characters_that_nobody_sees_are_none() {
        let hidden = "\u{200b}".repeat(5_000);
        assert_eq!(read(&format!("{hidden},b\none,two\n")), "b\n\none; two");
        let long = "n".repeat(5_000);
        let told = read(&format!("{long},b\none,two\n"));
        assert_eq!(told, format!("{}: one; b: two", "n".repeat(NAME_MAX)));
        assert_eq!(read(&format!("a{hidden}b,c\none,two\n")), "ab: one; c: two");
    }
}
