//! Reads the cells of a sheet, one row after the other: a sheet whose only cells are its first and its last would fill the memory as a
//! table.

use super::escapes::resolve_escapes;
use super::number_format::CellFormat;
use super::serial_time::DateSystem;
use super::{Book, CELL_MAX, read_rich_text};
use crate::DocumentError;
use crate::table::{TableRow, TallCells};
use crate::text::clean_text_line;
use crate::xml::{Element, XmlReader, XmlToken};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Number of columns of a sheet, as in Excel.
const COLUMNS: usize = 16_384;

/// Number of rows of a sheet, as in Excel.
const ROWS: usize = 1_048_576;

/// Maximum number of ranges of hidden columns, and of ranges of merged cells.
const RANGES_MAX: usize = 1_000;

/// Maximum number of cells that count as covered by merged cells.
const COVERED_MAX: usize = 100_000;

/// The comments of a sheet by their rows, each with its column.
pub(super) type SheetComments = HashMap<usize, Vec<(usize, String)>>;

/// Reads the rows of a sheet.
#[derive(Debug)]
pub(super) struct RowReader<'a> {
    reader: XmlReader<'a>,
    book: &'a Book,
    comments: SheetComments,
    merged: MergedCells,
    tall: TallCells<'a>,
    hidden: HashSet<usize>,
    hidden_ranges: usize,
    row: usize,
}

impl<'a> RowReader<'a> {
    pub(super) fn new(part: &'a str, book: &'a Book, comments: SheetComments) -> Self {
        Self {
            reader: XmlReader::new(part),
            book,
            comments,
            merged: MergedCells::find(part),
            tall: TallCells::default(),
            hidden: HashSet::new(),
            hidden_ranges: 0,
            row: 0,
        }
    }

    /// Returns the next row that is shown; `None` after the last one.
    pub(super) fn read_next_row(&mut self) -> Result<Option<TableRow<'a>>, DocumentError> {
        while let Some(element) = self.reader.read_next_element()? {
            match element.name() {
                "col" if element.is_attribute_set("hidden") => self.hide_columns(&element),
                "row" => {
                    let number = element.find_number("r");
                    self.row = number.unwrap_or(self.row.saturating_add(1));
                    if element.is_attribute_set("hidden") {
                        self.reader.skip_element()?;
                    } else {
                        return Ok(Some(self.read_sheet_row()?));
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn hide_columns(&mut self, element: &Element<'_>) {
        self.hidden_ranges += 1;
        let (first, last): (Option<usize>, Option<usize>) =
            (element.find_number("min"), element.find_number("max"));
        if let Some((first, last)) = first.zip(last)
            && self.hidden_ranges <= RANGES_MAX
        {
            let columns = first.saturating_sub(1)..last.min(COLUMNS);
            self.hidden.extend(columns);
        }
    }

    fn read_sheet_row(&mut self) -> Result<TableRow<'a>, DocumentError> {
        let (mut row, mut next) = (TableRow::default(), 0);
        loop {
            match self.reader.read_next_token()? {
                Some(XmlToken::Open(element)) if element.name() == "c" => {
                    let place = element.find_attribute("r");
                    let column = place.as_deref().and_then(parse_column).unwrap_or(next);
                    next = column.saturating_add(1);
                    let shown = self.read_sheet_cell(&element)?;
                    let place = (self.row, column);
                    let is_hidden = column >= COLUMNS
                        || self.hidden.contains(&column)
                        || self.merged.covered.contains(&place);
                    if !shown.is_empty() && !is_hidden && row.cells.len() < COLUMNS {
                        let is_wide = self.merged.wide.contains(&place);
                        row.is_title |= is_wide;
                        if let Some(last) = self.merged.tall.get(&place) {
                            self.tall.note_tall_cell(column, *last, is_wide, shown.clone());
                        }
                        row.cells.push((column, shown));
                    }
                }
                Some(XmlToken::Open(_)) => self.reader.skip_element()?,
                Some(XmlToken::Text(_)) => {}
                Some(XmlToken::Close(_)) | None => break,
            }
        }
        self.tall.repeat_in_row(self.row, &mut row);
        let comments = self.comments.remove(&self.row).unwrap_or_default();
        let shown = comments
            .into_iter()
            .filter(|(column, _)| !self.hidden.contains(column));
        row.comments = shown.map(|(_, words)| words).collect();
        Ok(row)
    }

    /// Reads what a cell shows.
    fn read_sheet_cell(&mut self, element: &Element<'_>) -> Result<Cow<'a, str>, DocumentError> {
        let kind = element.find_attribute("t").unwrap_or_default();
        let style = element.find_number("s").unwrap_or(0);
        let format = self.book.styles.find_format(style);
        let (mut value, mut inline) = (String::new(), None);
        loop {
            match self.reader.read_next_token()? {
                Some(XmlToken::Open(inner)) if inner.name() == "v" => {
                    value = read_stored_value(&mut self.reader)?;
                }
                Some(XmlToken::Open(inner)) if inner.name() == "is" => {
                    inline = Some(read_rich_text(&mut self.reader)?);
                }
                // A formula, of which the value is shown.
                Some(XmlToken::Open(_)) => self.reader.skip_element()?,
                Some(XmlToken::Text(_)) => {}
                Some(XmlToken::Close(_)) | None => break,
            }
        }
        Ok(match (kind.as_str(), inline) {
            (_, Some(text)) => format.show_cell_text(Cow::Owned(text)),
            ("s", None) => {
                let shared = value.trim().parse::<usize>().ok();
                let shared = shared.and_then(|place| self.book.shared.get(place));
                format.show_cell_text(Cow::Borrowed(shared.map_or("", |text| &**text)))
            }
            ("b", None) => Cow::Borrowed(if value.trim() == "1" { "TRUE" } else { "FALSE" }),
            ("str", None) => {
                format.show_cell_text(Cow::Owned(clean_text_line(&resolve_escapes(&value), CELL_MAX)))
            }
            ("e" | "d", None) => Cow::Owned(clean_text_line(&value, CELL_MAX)),
            _ => Cow::Owned(show_number(&value, format, self.book.dates)),
        })
    }
}

fn show_number(value: &str, format: &CellFormat, dates: DateSystem) -> String {
    match value.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => clean_text_line(&format.show_number(number, dates), CELL_MAX),
        _ => clean_text_line(value, CELL_MAX),
    }
}

/// Reads the text of the element that began last.
pub(super) fn read_stored_value(reader: &mut XmlReader<'_>) -> Result<String, DocumentError> {
    let mut value = String::new();
    loop {
        match reader.read_next_token()? {
            Some(XmlToken::Text(part)) => value.push_str(&part),
            Some(XmlToken::Open(_)) => reader.skip_element()?,
            Some(XmlToken::Close(_)) | None => return Ok(value),
        }
    }
}

/// Returns the column of a place such as `AB12`, counted from 0.
fn parse_column(place: &str) -> Option<usize> {
    let column = place.bytes().take_while(u8::is_ascii_alphabetic);
    let number = column.take(4).fold(0_usize, |number, byte| {
        number * 26 + usize::from(byte.to_ascii_uppercase() - b'A') + 1
    });
    number.checked_sub(1)
}

/// Returns the row, as Excel counts it, and the column of a place.
pub(super) fn parse_place(place: &str) -> Option<(usize, usize)> {
    let row = place
        .trim_start_matches(|c: char| c.is_ascii_alphabetic())
        .parse()
        .ok()?;
    Some((row, parse_column(place)?))
}

/// The cells of a sheet that are shown as one.
#[derive(Debug, Default)]
struct MergedCells {
    /// Those that are not shown, since another one reaches over them.
    covered: HashSet<(usize, usize)>,
    /// Those that reach over several columns.
    wide: HashSet<(usize, usize)>,
    /// Those that reach over several rows, with the last one.
    tall: HashMap<(usize, usize), usize>,
    /// Number of cells that were looked at.
    looked_at: usize,
}

impl MergedCells {
    /// Reads them before the rows, after which they stand.
    fn find(part: &str) -> Self {
        let mut found = Self::default();
        let begins = ["<mergeCells", "<x:mergeCells"];
        let Some(place) = begins.iter().find_map(|begin| part.find(begin)) else {
            return found;
        };
        let mut reader = XmlReader::new(&part[place..]);
        let mut ranges = 0;
        while let Ok(Some(token)) = reader.read_next_token() {
            match token {
                XmlToken::Open(element) if element.name() == "mergeCell" && ranges < RANGES_MAX => {
                    ranges += 1;
                    if let Some(range) = element.find_attribute("ref") {
                        found.add_merged_range(&range);
                    }
                }
                XmlToken::Close(end) if end.name() == "mergeCells" => break,
                _ => {}
            }
        }
        found
    }

    fn add_merged_range(&mut self, range: &str) {
        let ends = range.split_once(':');
        let ends = ends.and_then(|(first, last)| parse_place(first).zip(parse_place(last)));
        let Some(((top, left), (bottom, right))) = ends else {
            return;
        };
        if left >= COLUMNS {
            return;
        }
        if right > left {
            self.wide.insert((top, left));
        }
        if bottom > top {
            self.tall.insert((top, left), bottom);
        }
        for row in top..=bottom.min(ROWS) {
            for column in left..=right.min(COLUMNS) {
                self.looked_at += 1;
                if self.looked_at > COVERED_MAX {
                    return;
                }
                if (row, column) != (top, left) {
                    self.covered.insert((row, column));
                }
            }
        }
    }
}
