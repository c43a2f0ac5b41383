//! Tells the rows of a page's table with the names of its columns, if its first row consists of names.

use crate::table::REPEATED_BYTES_MAX;
use crate::text::clean_text_line;
use std::collections::BTreeMap;

/// Maximum number of characters of a column's name.
const NAME_MAX: usize = 200;

/// Maximum number of columns that have names, and whose cells may reach over several rows.
const COLUMNS_MAX: usize = 100;

/// A table that is open.
#[derive(Debug, Default)]
pub(super) struct HtmlTable {
    /// The names of the columns; none if it has none.
    names: Vec<String>,
    /// The cells of the first row, as long as they may be names.
    head: Option<Vec<String>>,
    /// The names are not looked for, or not any more.
    is_plain: bool,
    /// A cell of the first row reaches over several columns, so the row is a title.
    is_title: bool,
    /// The column of the next cell of the row.
    column: usize,
    /// The number of the row.
    row: usize,
    /// A cell of the row has been told.
    has_told: bool,
    /// The row has a cell of its own.
    has_cell: bool,
    /// The cells of rows above that reach into the row, by their columns.
    tall: BTreeMap<usize, TallCell>,
    /// The cell that is read, if it reaches over several rows, with its column.
    tall_begun: Option<(usize, TallCell)>,
    /// The cells of rows above that are told before the next own text, if there is one. `; ` follows each.
    repeated: String,
}

/// A cell that reaches over several rows.
#[derive(Debug)]
struct TallCell {
    last_row: usize,
    columns: usize,
    /// The text; empty if it is too long to be repeated.
    text: String,
}

impl HtmlTable {
    /// Begins a table. Names of columns are only looked for with `seeks_names`.
    pub(super) fn begin(seeks_names: bool) -> Self {
        Self {
            is_plain: !seeks_names,
            ..Self::default()
        }
    }

    /// Returns `true` if the rows are told with the names of their columns.
    pub(super) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Returns `true` if its rows are told as they are.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Tells the table as it is from now on. Returns the first row, if it was not told: as a whole if it named the columns, or else the cells
    /// that it has so far.
    pub(super) fn give_up_names(&mut self) -> Option<GivenUpRow> {
        self.is_plain = true;
        self.repeated.clear();
        if !self.names.is_empty() {
            return Some(GivenUpRow::Whole(std::mem::take(&mut self.names).join("\t")));
        }
        self.head.take().map(|cells| GivenUpRow::Begun(cells.join("\t")))
    }

    pub(super) fn begin_table_row(&mut self) {
        self.column = 0;
        self.row += 1;
        self.tall.retain(|_, cell| cell.last_row >= self.row);
    }

    /// Begins a group of rows, into which no cell from above reaches.
    pub(super) fn begin_row_group(&mut self) {
        self.tall.clear();
        self.tall_begun = None;
    }

    /// Begins a cell over so many columns and rows; 0 rows are all that follow. Returns what stands before its first character.
    pub(super) fn begin_table_cell(&mut self, is_heading: bool, columns: usize, rows: usize) -> CellStart {
        self.end_tall_cell();
        let mut before = self.repeat_tall_cells();
        let column = self.column;
        self.column = column.saturating_add(columns.max(1));
        self.has_cell = true;
        if rows != 1 && column < COLUMNS_MAX {
            let cell = TallCell {
                last_row: rows
                    .checked_sub(1)
                    .map_or(usize::MAX, |below| self.row.saturating_add(below)),
                columns: columns.max(1),
                text: String::new(),
            };
            self.tall_begun = Some((column, cell));
        }
        if !self.is_plain && self.names.is_empty() {
            if is_heading && column < COLUMNS_MAX {
                self.head.get_or_insert_default().push(String::new());
                return CellStart::Nothing;
            }
            return CellStart::NoNames;
        }
        if self.names.is_empty() {
            if column > 0 {
                before.push('\t');
            }
            return CellStart::Now(before);
        }
        if self.has_told {
            before.push_str("; ");
        }
        before.push_str(&self.repeated);
        if let Some(name) = self.names.get(column).filter(|name| !name.is_empty()) {
            before.push_str(name);
            before.push_str(": ");
        }
        CellStart::Later(before)
    }

    /// Says that the row does not name the columns. Returns `false` if names were found before, or the row has cells that are told already.
    pub(super) fn take_as_title(&mut self) -> bool {
        self.is_title = true;
        !self.is_plain && self.names.is_empty()
    }

    /// Says that the cell has text.
    pub(super) fn note_told_cell(&mut self) {
        self.has_told = true;
        self.repeated.clear();
    }

    /// Notes a character of the cell, which may be repeated in rows below.
    pub(super) fn note_character(&mut self, character: char) {
        if let Some((_, cell)) = &mut self.tall_begun
            && cell.text.len() <= REPEATED_BYTES_MAX
        {
            cell.text.push(character);
        }
    }

    /// Says that the cell is not repeated, since it holds more than text.
    pub(super) fn note_inner_table(&mut self) {
        if let Some((_, cell)) = &mut self.tall_begun {
            cell.text = " ".repeat(REPEATED_BYTES_MAX + 1);
        }
    }

    fn end_tall_cell(&mut self) {
        if let Some((column, mut cell)) = self.tall_begun.take() {
            if cell.text.len() > REPEATED_BYTES_MAX {
                cell.text.clear();
            }
            cell.text = clean_text_line(&cell.text, REPEATED_BYTES_MAX);
            self.tall.insert(column, cell);
        }
    }

    /// Goes over the cells of rows above that stand before the next cell. Returns their texts if they are told at once.
    fn repeat_tall_cells(&mut self) -> String {
        let mut now = String::new();
        while let Some(cell) = self.tall.get(&self.column) {
            if !self.names.is_empty() {
                if !cell.text.is_empty() {
                    let name = self.names.get(self.column).filter(|name| !name.is_empty());
                    let name = name.map(|name| [name.as_str(), ": "]).unwrap_or_default();
                    self.repeated.extend(name);
                    self.repeated.extend([cell.text.as_str(), "; "]);
                }
            } else if self.is_plain {
                now.extend([if self.column > 0 { "\t" } else { "" }, cell.text.as_str()]);
            } else {
                self.head.get_or_insert_default().push(cell.text.clone());
            }
            self.column = self.column.saturating_add(cell.columns);
        }
        now
    }

    /// Returns what the row repeats of rows above after its last own cell.
    fn repeat_last_cells(&mut self) -> String {
        let mut now = String::new();
        if !self.names.is_empty() && !self.has_told {
            return now;
        }
        while let Some((column, _)) = self.tall.range(self.column..).next() {
            self.column = *column;
            now.push_str(&self.repeat_tall_cells());
        }
        if !self.repeated.is_empty() {
            now.push_str("; ");
            now.push_str(self.repeated.trim_end_matches("; "));
        }
        now
    }

    /// Takes a character of the first row. Returns `false` if it is not kept here.
    pub(super) fn take_character(&mut self, character: char) -> bool {
        let Some(cell) = self.head.as_mut().and_then(|cells| cells.last_mut()) else {
            return false;
        };
        cell.push(character);
        true
    }

    /// Returns `true` if the cell that is read is too long for a name.
    pub(super) fn is_too_long(&self) -> bool {
        let cell = self.head.as_ref().and_then(|cells| cells.last());
        cell.is_some_and(|cell| cell.len() > NAME_MAX * 4)
    }

    /// Ends a row. Returns what is still told of it: what it repeats of rows above, or the row as it is if it does not name the columns.
    pub(super) fn end_table_row(&mut self) -> Option<String> {
        let is_title = std::mem::take(&mut self.is_title);
        let last = if std::mem::take(&mut self.has_cell) {
            self.repeat_last_cells()
        } else {
            String::new()
        };
        self.end_tall_cell();
        self.repeated.clear();
        self.has_told = false;
        let Some(cells) = self.head.take() else {
            return Some(last);
        };
        let names = cells.iter().map(|cell| clean_text_line(cell, NAME_MAX));
        let names: Vec<String> = names.collect();
        if !is_title && names.iter().filter(|name| !name.is_empty()).count() > 1 {
            self.names = names;
            return None;
        }
        // The title of the table: the names may follow.
        Some(names.join("\t"))
    }
}

/// A first row that is told as it is.
#[derive(Debug)]
pub(super) enum GivenUpRow {
    /// The row, on a line of its own.
    Whole(String),
    /// The cells so far. The row goes on.
    Begun(String),
}

/// The text that stands before a cell.
#[derive(Debug)]
pub(super) enum CellStart {
    Nothing,
    /// This, whether the cell is empty or not.
    Now(String),
    /// This, if the cell is not empty.
    Later(String),
    /// The first row has a cell that is no name.
    NoNames,
}
