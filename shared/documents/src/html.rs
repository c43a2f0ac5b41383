//! Reads the text of web pages. It goes over the page once and builds no tree, so that no page takes longer than its length.

mod elements;
mod entity;
mod table;
mod tag;

use crate::text::TextBuilder;
use elements::{LINES, NO_TEXT, PARAGRAPHS};
use entity::resolve_entity;
use table::{CellStart, GivenUpRow, HtmlTable};
use tag::{HiddenElement, Tag, skip_tag_content};

/// Number of bytes within which a heading ends. One that does not is text.
const HEADING_BYTES: usize = 2_000;

/// Maximum number of tables within tables.
const TABLES_MAX: usize = 50;

/// Longest title of a heading, in characters. A longer one is text.
const TITLE_MAX: usize = 300;

/// Reads the text of a page.
pub(crate) fn read_page_text(page: &str, text: &mut TextBuilder) {
    PageReader::new(text, false).read_whole_page(page);
}

/// Reads the text of a page as Markdown: with its headings and paragraphs, and without its navigation.
pub(crate) fn read_page_sections(page: &str, text: &mut TextBuilder) {
    PageReader::new(text, true).read_whole_page(page);
}

/// A line or a paragraph that ends before the next character of a cell, unless the cell ends first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingEnd {
    Nothing,
    Line,
    Paragraph,
}

struct PageReader<'t> {
    text: &'t mut TextBuilder,
    has_space: bool,
    keeps_structure: bool,
    /// A navigation does not end: none is looked for any more.
    has_open_navigation: bool,
    hidden: Option<HiddenElement>,
    /// Number of open elements whose lines end as they are written.
    preformatted: u32,
    tables: Vec<HtmlTable>,
    /// The words before the next character of a cell, such as the name of its column.
    before: String,
    /// The cell has no text yet.
    begins_cell: bool,
    /// A space stands before the next character of a cell, if there is one.
    has_gap: bool,
    /// The line or paragraph that ends before the next character within a table.
    pending: PendingEnd,
}

impl<'t> PageReader<'t> {
    fn new(text: &'t mut TextBuilder, keeps_structure: bool) -> Self {
        Self {
            text,
            has_space: true,
            keeps_structure,
            has_open_navigation: false,
            hidden: None,
            preformatted: 0,
            tables: Vec::new(),
            before: String::new(),
            begins_cell: false,
            has_gap: false,
            pending: PendingEnd::Nothing,
        }
    }

    fn read_whole_page(mut self, page: &str) {
        let mut rest = page;
        while !rest.is_empty() && !self.text.is_limit_reached() {
            let Some(first) = rest.chars().next() else { break };
            match first {
                '<' => {
                    rest = self.skip_page_markup(rest);
                    continue;
                }
                '&' => {
                    let (characters, after) = resolve_entity(rest);
                    characters
                        .chars()
                        .for_each(|character| self.push_character(character));
                    rest = after;
                    continue;
                }
                '\n' if self.preformatted > 0 => self.push_character('\n'),
                space if space.is_whitespace() => {
                    if !self.has_space {
                        self.push_character(' ');
                    }
                    self.has_space = true;
                }
                character => self.push_character(character),
            }
            rest = &rest[first.len_utf8()..];
        }
        while let Some(table) = self.tables.pop() {
            self.end_whole_table(table);
        }
    }

    /// Adds a character that readers see.
    fn push_character(&mut self, character: char) {
        if self.hidden.is_some() {
            return;
        }
        self.has_space = false;
        if let Some(table) = self.tables.last_mut() {
            table.note_character(character);
            if table.take_character(character) {
                self.text.count_looks(1);
                if table.is_too_long() {
                    self.give_up_names();
                }
                return;
            }
        }
        let table = self.tables.last_mut().filter(|table| table.has_names());
        if let Some(table) = table {
            if character.is_whitespace() {
                self.has_gap = true;
                self.text.count_looks(1);
                return;
            }
            let has_gap = std::mem::take(&mut self.has_gap);
            if self.begins_cell {
                self.text.append_text_run(&std::mem::take(&mut self.before));
                table.note_told_cell();
            } else if has_gap {
                self.text.append_character(' ');
            }
        }
        match std::mem::replace(&mut self.pending, PendingEnd::Nothing) {
            PendingEnd::Nothing => {}
            PendingEnd::Line => self.text.end_current_line(),
            PendingEnd::Paragraph => self.text.begin_paragraph(),
        }
        self.begins_cell = false;
        self.text.append_character(character);
    }

    /// Ends the line, if it has begun. A cell whose column has a name stands in one line.
    fn end_page_line(&mut self, end: PendingEnd) {
        self.has_space = true;
        if let Some(table) = self.tables.last_mut() {
            table.note_character(' ');
            if table.has_names() {
                self.has_gap = true;
            } else if !table.take_character(' ') && !self.begins_cell && self.pending != PendingEnd::Paragraph
            {
                self.pending = end;
            }
            return;
        }
        self.text.end_current_line();
        if end == PendingEnd::Paragraph {
            self.text.begin_paragraph();
        }
    }

    fn give_up_names(&mut self) {
        match self.tables.last_mut().and_then(HtmlTable::give_up_names) {
            Some(GivenUpRow::Whole(row)) => {
                self.text.end_current_line();
                self.text.append_text_run(&row);
                self.text.end_current_line();
            }
            Some(GivenUpRow::Begun(row)) => self.text.append_text_run(&row),
            None => {}
        }
        self.before.clear();
        self.begins_cell = false;
    }

    /// Skips what begins with `<`: a comment, or a tag, with the content of an element that is no text. Ends the line where the
    /// element does.
    fn skip_page_markup<'a>(&mut self, rest: &'a str) -> &'a str {
        if let Some(comment) = rest.strip_prefix("<!--") {
            return comment.split_once("-->").map_or("", |(_, after)| after);
        }
        let inside = &rest[1..];
        let is_tag = inside.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        if !is_tag {
            self.push_character('<');
            return inside;
        }
        let (tag, after) = Tag::read_page_tag(inside);
        if !tag.is_end && NO_TEXT.contains(&tag.name.as_str()) && !(tag.name == "svg" && tag.closes_itself())
        {
            return skip_element_text(after, &tag.name).unwrap_or("");
        }
        if let Some(hidden) = &mut self.hidden {
            if !hidden.is_over_at(&tag) {
                return after;
            }
            let is_own = hidden.takes_last_tag(&tag);
            self.hidden = None;
            if is_own {
                return after;
            }
        }
        if !tag.is_end && !tag.is_void() && !tag.closes_itself() && tag.is_hidden() {
            self.hidden = Some(HiddenElement::begin(&tag));
            return after;
        }
        if self.keeps_structure
            && !tag.is_end
            && let Some(after) = self.read_structure(&tag.name, after)
        {
            return after;
        }
        self.apply_page_tag(&tag);
        after
    }

    fn apply_page_tag(&mut self, tag: &Tag<'_>) {
        match tag.name.as_str() {
            "table" if tag.is_end => {
                if let Some(table) = self.tables.pop() {
                    self.end_whole_table(table);
                }
            }
            // A table within another one is told as a part of its cell.
            "table" => {
                self.give_up_names();
                if let Some(table) = self.tables.last_mut() {
                    table.note_inner_table();
                }
                self.begin_page_lines(&tag.name);
                if self.tables.len() < TABLES_MAX {
                    self.tables.push(HtmlTable::begin(self.keeps_structure));
                }
            }
            "thead" | "tbody" | "tfoot" => {
                if let Some(table) = self.tables.last_mut() {
                    table.begin_row_group();
                }
            }
            "tr" => self.change_table_row(tag.is_end),
            "td" | "th" if !tag.is_end => self.begin_table_cell(tag),
            "td" | "th" => self.has_space = true,
            name if LINES.contains(&name) => {
                if name == "pre" {
                    self.preformatted = if tag.is_end {
                        self.preformatted.saturating_sub(1)
                    } else {
                        self.preformatted + 1
                    };
                }
                self.begin_page_lines(name);
            }
            _ => {}
        }
    }

    fn begin_page_lines(&mut self, name: &str) {
        let is_paragraph = self.keeps_structure && PARAGRAPHS.contains(&name);
        self.end_page_line(if is_paragraph {
            PendingEnd::Paragraph
        } else {
            PendingEnd::Line
        });
    }

    fn change_table_row(&mut self, is_end: bool) {
        let Some(table) = self.tables.last_mut() else {
            return self.end_page_line(PendingEnd::Line);
        };
        let had_names = table.has_names();
        let row = table.end_table_row();
        if !is_end {
            table.begin_table_row();
        }
        self.end_table_row(row, had_names);
    }

    fn end_table_row(&mut self, row: Option<String>, had_names: bool) {
        if let Some(row) = row {
            self.text.append_text_run(&row);
        }
        self.before.clear();
        self.has_gap = false;
        self.begins_cell = false;
        self.pending = PendingEnd::Nothing;
        if had_names {
            self.text.begin_paragraph();
        } else {
            self.text.end_current_line();
        }
        self.has_space = true;
    }

    fn end_whole_table(&mut self, mut table: HtmlTable) {
        let had_names = table.has_names();
        let row = table.end_table_row();
        self.end_table_row(row, had_names);
        if self.keeps_structure {
            self.text.begin_paragraph();
        }
    }

    fn begin_table_cell(&mut self, tag: &Tag<'_>) {
        self.has_space = true;
        self.pending = PendingEnd::Nothing;
        let is_heading = tag.name == "th";
        let (columns, rows) = (tag.read_span("colspan"), tag.read_span("rowspan"));
        let is_title =
            columns > 1 && is_heading && self.tables.last_mut().is_some_and(HtmlTable::take_as_title);
        if columns > 1 && !is_title {
            self.give_up_names();
        }
        let Some(table) = self.tables.last_mut() else {
            return self.text.append_character('\t');
        };
        self.begins_cell = true;
        match table.begin_table_cell(is_heading, columns, rows) {
            CellStart::Nothing => {}
            CellStart::Now(before) => self.text.append_text_run(&before),
            CellStart::Later(before) => {
                self.text.count_looks(before.len());
                self.before = before;
                self.has_gap = false;
            }
            CellStart::NoNames => {
                self.give_up_names();
                self.begins_cell = true;
                let is_first = self.text.is_at_line_start();
                if !is_first {
                    self.text.append_character('\t');
                }
            }
        }
    }

    /// Reads a heading, or skips a navigation, and returns what follows it; `None` for any other element.
    fn read_structure<'a>(&mut self, name: &str, after: &'a str) -> Option<&'a str> {
        if name == "nav" && !self.has_open_navigation {
            let end = skip_element_text(after, name);
            self.has_open_navigation = end.is_none();
            self.has_space = true;
            return end;
        }
        let level = name.strip_prefix('h')?.parse().ok()?;
        // Headings of cells are text, but those of tables that only lay a page out.
        let is_in_row = self.tables.last().is_some_and(|table| !table.is_plain());
        if !(1..=6).contains(&level) || is_in_row {
            return None;
        }
        let window = &after[..after.floor_char_boundary(HEADING_BYTES)];
        let end = find_element_end(window, name);
        // What was looked through counts, since a page may consist of headings that do not end.
        self.text.count_looks(end.unwrap_or(window.len()));
        let end = end?;
        let mut title = TextBuilder::with_limits(TITLE_MAX, HEADING_BYTES);
        read_page_text(&window[..end], &mut title);
        let title = title.into_document_text();
        if title.is_cut {
            return None;
        }
        let title: Vec<&str> = title.text.split_whitespace().collect();
        if !title.is_empty() {
            self.pending = PendingEnd::Nothing;
            self.text.append_heading(level, &title.join(" "));
        }
        self.has_space = true;
        Some(skip_tag_content(&after[end + 2..]))
    }
}

/// Returns what follows the end of the element `name`; `None` if it does not end.
fn skip_element_text<'a>(rest: &'a str, name: &str) -> Option<&'a str> {
    let end = find_element_end(rest, name)?;
    Some(skip_tag_content(&rest[end + 2..]))
}

/// Returns the place of the `</` that ends the element `name`.
fn find_element_end(rest: &str, name: &str) -> Option<usize> {
    let is_end = |place: &usize| {
        let own = rest.get(place + 2..place + 2 + name.len());
        own.is_some_and(|own| own.eq_ignore_ascii_case(name))
    };
    rest.match_indices("</").map(|(place, _)| place).find(is_end)
}
