//! Joins columns of a page to rows where the page draws one column after the other.
//!
//! Some programs write lists of prices so. A column begins where a text stands higher than the one that was drawn before it. It is joined to the rows before it only if, of the
//! lines at equal heights:
//!
//! * no two texts lie over each other, and the same column has the leftmost text of each line;
//! * three of four have a left text of at most 60 characters, and at most half begin with a small letter, as lines of sentences do;
//! * three of four have right texts with at most three words besides numbers;
//! * at most half have a name with a number on both sides, as two lists side by side do.
//!
//! So columns of sentences stay in the order in which they are drawn. A page with text that is turned or has no place, and one with more
//! parts than the limits, is not joined at all.

use crate::text::clean_text_line;

/// Maximum number of cells of a page, and of columns, that are looked at.
const CELLS_MAX: usize = 3_000;
const COLUMNS_MAX: usize = 100;

/// Maximum number of characters of a name, and of words besides numbers of a value.
const NAME_MAX: usize = 60;
const VALUE_WORDS_MAX: usize = 3;

/// Number of letters of the shortest word that is a name beside a number.
const NAME_WORD_MIN: usize = 4;

// All of these are parts of the size of the font.
/// The difference in height of texts on one line.
const SAME_LINE: f64 = 1.0 / 3.0;
/// The height to which a raised text stands on its line.
const RAISED: f64 = 0.9;
/// The distance from which lines are paragraphs.
const PARAGRAPH: f64 = 1.5;
/// The gap from which there is a space.
const SPACE: f64 = 0.1;
/// The gap from which another cell begins.
const CELL_GAP: f64 = 1.5;
/// The width by which texts may overlap.
const OVERLAP: f64 = 0.5;

/// A text and its place on the page, whose heights grow upwards.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedText<'a> {
    pub(super) text: &'a str,
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) height: f64,
    /// The size of the font.
    pub(super) size: f64,
}

/// Texts that stand together on a line.
#[derive(Debug)]
struct PlacedCell {
    text: String,
    start: f64,
    end: f64,
}

/// Cells at one height.
#[derive(Debug)]
struct PlacedRow {
    cells: Vec<PlacedCell>,
    height: f64,
    size: f64,
}

/// The texts of a page, in the order in which they are drawn.
#[derive(Debug, Default)]
pub(super) struct DrawnColumns {
    /// Rows that are drawn from top to bottom make a column. None is empty, and no row is.
    columns: Vec<Vec<PlacedRow>>,
    cells: usize,
    has_space: bool,
    is_unclear: bool,
}

impl DrawnColumns {
    /// Says that the places of the page's texts cannot be told.
    pub(super) fn mark_unclear(&mut self) {
        self.is_unclear = true;
        self.columns = Vec::new();
    }

    /// Adds a text that is drawn next.
    pub(super) fn add_drawn_text(&mut self, drawn: PlacedText<'_>) {
        if self.is_unclear || drawn.text.is_empty() {
            return;
        }
        if drawn.text.chars().all(char::is_whitespace) {
            self.has_space = true;
            return;
        }
        let has_space = std::mem::take(&mut self.has_space);
        if !self.continue_row(drawn, has_space) {
            self.begin_row(drawn);
        }
        if self.cells > CELLS_MAX || self.columns.len() > COLUMNS_MAX {
            self.mark_unclear();
        }
    }

    /// Adds a text to the row that was drawn last. Returns `false` if it stands on another line.
    fn continue_row(&mut self, drawn: PlacedText<'_>, has_space: bool) -> bool {
        let Some(row) = self.columns.last_mut().and_then(|column| column.last_mut()) else {
            return false;
        };
        let size = row.size.max(drawn.size);
        if !(-SAME_LINE * size..=RAISED * size).contains(&(drawn.height - row.height)) {
            return false;
        }
        if let Some(cell) = row.cells.last_mut() {
            let gap = drawn.start - cell.end;
            if (-OVERLAP * size..=CELL_GAP * size).contains(&gap) {
                if has_space || gap > SPACE * size {
                    cell.text.push(' ');
                }
                cell.text.push_str(drawn.text);
                cell.end = drawn.end;
                return true;
            }
        }
        row.cells.push(PlacedCell::from_drawn(drawn));
        self.cells += 1;
        true
    }

    /// Begins a row below the one that was drawn last, or that of another column.
    fn begin_row(&mut self, drawn: PlacedText<'_>) {
        let row = PlacedRow {
            cells: vec![PlacedCell::from_drawn(drawn)],
            height: drawn.height,
            size: drawn.size,
        };
        self.cells += 1;
        match self.columns.last_mut() {
            Some(column) if column.last().is_some_and(|last| drawn.height < last.height) => column.push(row),
            _ => self.columns.push(vec![row]),
        }
    }

    /// Returns the text of the page in rows; `None` if no columns of it are to be joined.
    pub(super) fn join_columns(self) -> Option<String> {
        let mut columns = self.columns.into_iter();
        let mut rows = columns.next()?;
        let (mut text, mut has_joined) = (String::new(), false);
        for column in columns {
            if belongs_beside(&rows, &column) {
                join_rows(&mut rows, column);
                has_joined = true;
            } else {
                write_rows(std::mem::replace(&mut rows, column), &mut text);
            }
        }
        write_rows(rows, &mut text);
        has_joined.then_some(text)
    }
}

impl PlacedCell {
    fn from_drawn(drawn: PlacedText<'_>) -> Self {
        Self {
            text: drawn.text.to_owned(),
            start: drawn.start,
            end: drawn.end,
        }
    }

    /// Returns `true` if it may be a price, a time or a few words.
    fn is_value(&self) -> bool {
        let words = self.text.split_whitespace();
        words.filter(|word| !has_digit(word)).count() <= VALUE_WORDS_MAX
    }
}

impl PlacedRow {
    /// Returns the place where its first cell begins.
    fn start(&self) -> f64 {
        self.first_cell().map_or(f64::INFINITY, |cell| cell.start)
    }

    /// Returns `true` if no cell lies over one of the other row.
    fn stands_apart_from(&self, other: &Self) -> bool {
        let slack = OVERLAP * self.size;
        let is_apart = |a: &PlacedCell, b: &PlacedCell| a.end <= b.start + slack || b.end <= a.start + slack;
        let mut cells = self.cells.iter();
        cells.all(|cell| other.cells.iter().all(|of_other| is_apart(cell, of_other)))
    }

    fn first_cell(&self) -> Option<&PlacedCell> {
        self.cells.iter().min_by(|a, b| a.start.total_cmp(&b.start))
    }

    /// Returns `true` if it has a name with a number behind it.
    fn is_list_entry(&self) -> bool {
        let first = self
            .first_cell()
            .and_then(|cell| cell.text.split_whitespace().next());
        let is_name = first.is_some_and(|word| {
            !has_digit(word) && word.chars().filter(|c| c.is_alphabetic()).count() >= NAME_WORD_MIN
        });
        is_name && self.cells.iter().any(|cell| has_digit(&cell.text))
    }
}

fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

/// Returns the place of the row that stands at the height of `row`. The rows are sorted from top to bottom.
fn find_row_at_height(rows: &[PlacedRow], row: &PlacedRow) -> Option<usize> {
    let tolerance = SAME_LINE * row.size;
    let place = rows.partition_point(|other| other.height > row.height + tolerance);
    let other = rows.get(place)?;
    (other.height >= row.height - tolerance).then_some(place)
}

/// Returns `true` if a column and the rows that were drawn before it are parts of the same rows.
fn belongs_beside(rows: &[PlacedRow], column: &[PlacedRow]) -> bool {
    let lowest = rows.last().map_or(f64::INFINITY, |row| row.height);
    // What stands below all rows follows them in any case.
    let beside = column
        .iter()
        .filter(|row| row.height >= lowest - SAME_LINE * row.size);
    let beside: Vec<&PlacedRow> = beside.collect();
    let pairs: Vec<(&PlacedRow, &PlacedRow)> = beside
        .iter()
        .filter_map(|row| Some((rows.get(find_row_at_height(rows, row)?)?, *row)))
        .collect();
    let Some((before, row)) = pairs.first() else {
        return false;
    };
    let is_right = before.start() < row.start();
    let is_apart = |(before, row): &(&PlacedRow, &PlacedRow)| {
        (before.start() < row.start()) == is_right && before.stands_apart_from(row)
    };
    if !is_most(pairs.len(), beside.len()) || !pairs.iter().all(is_apart) {
        return false;
    }
    let pairs = pairs.into_iter();
    let pairs: Vec<(&PlacedRow, &PlacedRow)> = pairs
        .map(|(before, row)| if is_right { (before, row) } else { (row, before) })
        .collect();
    let names = pairs.iter().filter_map(|(left, _)| left.first_cell());
    let names: Vec<&str> = names.map(|cell| cell.text.as_str()).collect();
    let short = names.iter().filter(|name| name.chars().count() <= NAME_MAX);
    let small = names.iter().filter(|name| name.starts_with(char::is_lowercase));
    let values = pairs
        .iter()
        .filter(|(_, right)| right.cells.iter().all(PlacedCell::is_value));
    let lists = pairs
        .iter()
        .filter(|(left, right)| left.is_list_entry() && right.is_list_entry());
    is_most(short.count(), pairs.len())
        && is_most(values.count(), pairs.len())
        && small.count() * 2 <= pairs.len()
        && lists.count() * 2 <= pairs.len()
}

/// Returns `true` for three of four.
fn is_most(part: usize, whole: usize) -> bool {
    part * 4 >= whole * 3
}

/// Joins a column to the rows, which stay sorted from top to bottom.
fn join_rows(rows: &mut Vec<PlacedRow>, column: Vec<PlacedRow>) {
    let mut others = Vec::new();
    for row in column {
        match find_row_at_height(rows, &row) {
            Some(place) => rows[place].cells.extend(row.cells),
            None => others.push(row),
        }
    }
    rows.append(&mut others);
    rows.sort_by(|a, b| b.height.total_cmp(&a.height));
}

/// Adds rows to a text, a line each, with what stands between cells of a sheet's row between theirs.
fn write_rows(rows: Vec<PlacedRow>, text: &mut String) {
    let mut last = f64::INFINITY;
    for mut row in rows {
        if !text.is_empty() {
            let is_paragraph = last - row.height > PARAGRAPH * row.size;
            text.push_str(if is_paragraph { "\n\n" } else { "\n" });
        }
        last = row.height;
        row.cells.sort_by(|a, b| a.start.total_cmp(&b.start));
        let cells = row.cells.iter();
        let cells = cells.map(|cell| clean_text_line(&cell.text, usize::MAX));
        let cells: Vec<String> = cells.filter(|cell| !cell.is_empty()).collect();
        text.push_str(&cells.join("; "));
    }
}
