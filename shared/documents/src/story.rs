//! Collects the paragraphs and tables of a written document in the order in which they are read: what stands in a box comes after its
//! paragraph, and so do notes.

use crate::TextForm;
use crate::table::REPEATED_BYTES_MAX;
use crate::text::{TextBuilder, clean_text_line};
use std::collections::BTreeMap;

/// Longest title of a heading, in characters. A longer one is text.
const TITLE_MAX: usize = 300;

/// The deepest level of headings.
const LEVEL_MAX: usize = 6;

/// The depth of boxes within boxes and of tables within tables that is told apart. What is deeper belongs to what is around it.
const DEPTH_MAX: usize = 10;

/// Maximum number of columns whose cells may reach over several rows.
const TALL_COLUMNS_MAX: usize = 1_000;

/// A paragraph that is being read, and the tables around it.
#[derive(Debug, Default)]
struct Flow {
    paragraph: String,
    heading: Option<usize>,
    /// Text that follows the paragraph on lines of its own.
    after: Vec<String>,
    tables: Vec<StoryTable>,
    /// Number of open tables that are too deep.
    deeper_tables: usize,
    /// The lines of a flow within another one.
    lines: Vec<String>,
}

/// The rows over which a cell reaches.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellRows {
    /// The row in which it stands.
    #[default]
    One,
    /// This row and so many below.
    Below(usize),
    /// The rows of the cell above, which goes on here.
    FromAbove,
}

#[derive(Debug, Default)]
struct StoryTable {
    row: Vec<String>,
    cell: String,
    /// Number of columns over which the cell reaches, if it says so, and its rows.
    span: (usize, CellRows),
    /// The column of the cell.
    column: usize,
    /// The number of the row.
    number: usize,
    /// A cell of the row has text of its own.
    has_own_text: bool,
    /// The texts of cells that reach over several rows, by their columns, each with the last row.
    tall: BTreeMap<usize, (usize, String)>,
}

impl StoryTable {
    fn begin_next_row(&mut self) {
        self.row.clear();
        self.cell.clear();
        self.column = 0;
        self.number += 1;
        self.has_own_text = false;
    }

    /// Ends the cell. Returns the number of bytes that it repeats from a row above.
    fn end_cell(&mut self) -> usize {
        let mut cell = clean_text_line(&std::mem::take(&mut self.cell), usize::MAX);
        let (columns, rows) = std::mem::take(&mut self.span);
        let mut repeated = 0;
        self.has_own_text |= !cell.is_empty();
        match rows {
            CellRows::FromAbove if cell.is_empty() => {
                let above = self.tall.get(&self.column);
                cell = above.map_or_else(String::new, |(_, text)| text.clone());
                repeated = cell.len();
            }
            CellRows::Below(rows)
                if rows > 0 && cell.len() <= REPEATED_BYTES_MAX && self.column < TALL_COLUMNS_MAX =>
            {
                let last = self.number.saturating_add(rows);
                self.tall.insert(self.column, (last, cell.clone()));
            }
            _ => {
                self.tall.remove(&self.column);
            }
        }
        self.row.push(cell);
        self.column = self.column.saturating_add(columns.max(1));
        repeated
    }

    /// Ends cells over which others reach, so that they show nothing themselves. Returns the number of bytes that are repeated in them.
    fn end_covered_cells(&mut self, columns: usize) -> usize {
        self.cell.clear();
        let (end, told) = (self.column.saturating_add(columns), self.row.len());
        let above = self.tall.range(self.column..end);
        let above = above.filter(|(_, (last, _))| *last >= self.number);
        self.row.extend(above.map(|(_, (_, text))| text.clone()));
        self.column = end;
        self.row[told..].iter().map(String::len).sum()
    }
}

/// The text of a document, or of a part of it.
#[derive(Debug)]
pub(crate) struct Story<'t> {
    text: &'t mut TextBuilder,
    form: TextForm,
    outer: Flow,
    /// Boxes within the paragraph, the innermost last.
    boxes: Vec<Flow>,
    /// Number of open boxes that are too deep.
    deeper_boxes: usize,
}

impl<'t> Story<'t> {
    pub(crate) fn new(text: &'t mut TextBuilder, form: TextForm) -> Self {
        Self {
            text,
            form,
            outer: Flow::default(),
            boxes: Vec::new(),
            deeper_boxes: 0,
        }
    }

    fn present_flow(&mut self) -> &mut Flow {
        self.boxes.last_mut().unwrap_or(&mut self.outer)
    }

    /// Returns `true` if no more text is taken.
    pub(crate) fn is_limit_reached(&self) -> bool {
        self.text.is_limit_reached()
    }

    /// Adds text to the paragraph.
    pub(crate) fn push_paragraph_text(&mut self, text: &str) {
        self.present_flow().paragraph.push_str(text);
    }

    /// Says that the paragraph is a heading.
    pub(crate) fn set_heading(&mut self, level: Option<usize>) {
        self.present_flow().heading = level.map(|level| level.clamp(1, LEVEL_MAX));
    }

    /// Adds a line that follows the paragraph, such as a note.
    pub(crate) fn push_line_after(&mut self, line: String) {
        self.present_flow().after.push(line);
    }

    /// Ends the paragraph.
    pub(crate) fn end_paragraph(&mut self) {
        let flow = self.present_flow();
        let paragraph = std::mem::take(&mut flow.paragraph);
        let heading = flow.heading.take();
        if let Some(table) = flow.tables.last_mut() {
            append_to_cell(&mut table.cell, &paragraph);
            return;
        }
        self.write_story_line(&paragraph, heading);
        self.write_lines_after();
    }

    pub(crate) fn begin_table(&mut self) {
        let flow = self.present_flow();
        if flow.tables.len() < DEPTH_MAX {
            flow.tables.push(StoryTable::default());
        } else {
            flow.deeper_tables += 1;
        }
    }

    /// Returns the innermost table, unless it is too deep.
    fn present_table(&mut self) -> Option<&mut StoryTable> {
        let flow = self.present_flow();
        let is_told = flow.deeper_tables == 0;
        flow.tables.last_mut().filter(|_| is_told)
    }

    /// Says over which columns and rows the cell reaches.
    pub(crate) fn set_cell_span(&mut self, columns: usize, rows: CellRows) {
        if let Some(table) = self.present_table() {
            table.span = (columns, rows);
        }
    }

    /// Goes over columns in which the row has no cells.
    pub(crate) fn skip_table_columns(&mut self, columns: usize) {
        if let Some(table) = self.present_table() {
            table.column = table.column.saturating_add(columns);
        }
    }

    pub(crate) fn end_table_cell(&mut self) {
        let repeated = self.present_table().map_or(0, StoryTable::end_cell);
        self.text.count_looks(repeated);
    }

    /// Ends cells over which others reach.
    pub(crate) fn end_covered_cells(&mut self, columns: usize) {
        let table = self.present_table();
        let repeated = table.map_or(0, |table| table.end_covered_cells(columns));
        self.text.count_looks(repeated);
    }

    /// Ends a row: a line whose cells stand side by side, or a part of the cell around it. What it repeats from rows above is told if it has
    /// text of its own.
    pub(crate) fn end_table_row(&mut self) {
        let Some(table) = self.present_table() else { return };
        let row = if table.has_own_text {
            table.row.join("\t")
        } else {
            String::new()
        };
        table.begin_next_row();
        if let [.., around, _] = self.present_flow().tables.as_mut_slice() {
            append_to_cell(&mut around.cell, &row);
            return;
        }
        self.write_story_line(row.trim_end(), None);
        self.write_lines_after();
    }

    /// Forgets the row, which is not shown.
    pub(crate) fn drop_table_row(&mut self) {
        let flow = self.present_flow();
        flow.after.clear();
        if let Some(table) = flow.tables.last_mut() {
            table.begin_next_row();
        }
    }

    pub(crate) fn end_whole_table(&mut self) {
        let flow = self.present_flow();
        if flow.deeper_tables > 0 {
            flow.deeper_tables -= 1;
            return;
        }
        flow.tables.pop();
        if flow.tables.is_empty() && self.boxes.is_empty() {
            self.text.begin_paragraph();
        }
    }

    /// Begins a box, which is read after the paragraph in which it stands.
    pub(crate) fn begin_text_box(&mut self) {
        if self.boxes.len() < DEPTH_MAX {
            self.boxes.push(Flow::default());
        } else {
            self.deeper_boxes += 1;
        }
    }

    /// Ends a box and returns its lines.
    pub(crate) fn end_text_box(&mut self) -> Vec<String> {
        if self.deeper_boxes > 0 {
            self.deeper_boxes -= 1;
            return Vec::new();
        }
        let Some(mut inner) = self.boxes.pop() else {
            return Vec::new();
        };
        if !inner.paragraph.is_empty() {
            inner.lines.push(inner.paragraph);
        }
        inner.lines.extend(inner.after);
        inner.lines
    }

    fn write_lines_after(&mut self) {
        let after = std::mem::take(&mut self.present_flow().after);
        for line in after {
            self.write_story_line(&line, None);
        }
    }

    fn write_story_line(&mut self, line: &str, heading: Option<usize>) {
        if let Some(inner) = self.boxes.last_mut() {
            if !line.trim().is_empty() {
                inner.lines.push(line.to_owned());
            }
            return;
        }
        if let Some(level) = heading.filter(|_| self.form == TextForm::Markdown) {
            let title = clean_text_line(line, TITLE_MAX + 1);
            if !title.is_empty() && title.chars().count() <= TITLE_MAX {
                self.text.append_heading(level, &title);
                return;
            }
        }
        self.text.append_text_run(line);
        self.text.append_character('\n');
    }
}

fn append_to_cell(cell: &mut String, text: &str) {
    if !cell.is_empty() && !text.is_empty() {
        cell.push(' ');
    }
    cell.push_str(text);
}
