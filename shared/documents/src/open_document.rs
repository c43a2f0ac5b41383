//! Reads documents of the Open Document Format: texts and spreadsheets of `LibreOffice` and others.

mod sheet;

use crate::package::Package;
use crate::story::{CellRows, Story};
use crate::text::TextBuilder;
use crate::xml::{Element, XmlReader, XmlToken};
use crate::{DocumentError, TextForm};
use sheet::read_count;
pub(crate) use sheet::read_open_spreadsheet;
use std::collections::HashSet;

/// Maximum number of times that an equal row or cell is told, and of spaces that stand for one element.
const REPEATS_MAX: usize = 100;

/// Maximum number of characters of a cell.
const CELL_MAX: usize = 32_767;

/// Elements whose content is not shown in the text: deleted text, the number of a note, the pronunciation of a word, who
/// made a comment, and the description of a picture.
const NOT_SHOWN: [&str; 8] = [
    "tracked-changes",
    "note-citation",
    "ruby-text",
    "hidden-text",
    "hidden-paragraph",
    "creator",
    "date-string",
    "desc",
];

/// Reads a text document.
pub(crate) fn read_text_document(
    package: &mut Package<'_>,
    form: TextForm,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let content = package.take_needed_part("content.xml")?;
    let mut footers = String::new();
    if let Some(styles) = package.take_package_part("styles.xml")? {
        for (label, line) in read_margins(&styles)? {
            match label {
                "header" => text.append_text_run(&format!("[header] {line}\n")),
                _ => footers.extend(["[footer] ", &line, "\n"]),
            }
        }
        text.count_looks(styles.len());
    }
    let hidden = list_hidden_styles(&content)?;
    OdtReader::new(XmlReader::new(&content), Story::new(text, form), &hidden).read_document_body()?;
    text.end_current_line();
    text.append_text_run(&footers);
    Ok(())
}

/// Returns the headers and footers of the pages, each once.
fn read_margins(styles: &str) -> Result<Vec<(&'static str, String)>, DocumentError> {
    let hidden = list_hidden_styles(styles)?;
    let (mut reader, mut found) = (XmlReader::new(styles), Vec::new());
    let mut is_of_pages = false;
    while let Some(element) = reader.read_next_element()? {
        let label = match element.name() {
            "master-styles" => {
                is_of_pages = true;
                continue;
            }
            "header" | "header-first" if is_of_pages => "header",
            "footer" | "footer-first" if is_of_pages => "footer",
            _ => continue,
        };
        let mut read = TextBuilder::with_limits(CELL_MAX, CELL_MAX * 10);
        let mut inner = OdtReader::new(reader, Story::new(&mut read, TextForm::Plain), &hidden);
        inner.read_element()?;
        reader = inner.reader;
        let line = read.into_document_text().text.replace('\n', " / ");
        if !line.is_empty() && !found.contains(&(label, line.clone())) && found.len() < REPEATS_MAX {
            found.push((label, line));
        }
    }
    Ok(found)
}

/// Returns the names of the styles that hide text, or a table.
fn list_hidden_styles(part: &str) -> Result<HashSet<String>, DocumentError> {
    let (mut reader, mut hidden, mut name) = (XmlReader::new(part), HashSet::new(), None);
    while let Some(element) = reader.read_next_element()? {
        match element.name() {
            "style" => name = element.find_attribute("name"),
            "text-properties" if element.find_attribute("display").as_deref() == Some("none") => {
                hidden.extend(name.clone());
            }
            "table-properties" if element.find_attribute("display").as_deref() == Some("false") => {
                hidden.extend(name.clone());
            }
            "body" => break,
            _ => {}
        }
    }
    Ok(hidden)
}

/// Reads the text of elements of a text document.
struct OdtReader<'a, 's, 't> {
    reader: XmlReader<'a>,
    story: Story<'t>,
    hidden: &'s HashSet<String>,
    /// For each element that is open, what it is.
    open: Vec<OpenPlace>,
    /// Number of open elements that hide their text.
    hiding: usize,
    /// Number of open paragraphs and headings.
    paragraphs: usize,
}

/// The meaning of an open element to the text within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenPlace {
    Hidden,
    Paragraph,
    Box,
    /// A note or a comment, told apart by this label.
    Note(&'static str),
    Table,
    Row,
    Cell,
    /// So many cells over which another one reaches.
    CoveredCells(usize),
    Other,
}

impl<'a, 's, 't> OdtReader<'a, 's, 't> {
    fn new(reader: XmlReader<'a>, story: Story<'t>, hidden: &'s HashSet<String>) -> Self {
        Self {
            reader,
            story,
            hidden,
            open: Vec::new(),
            hiding: 0,
            paragraphs: 0,
        }
    }

    fn read_document_body(&mut self) -> Result<(), DocumentError> {
        while let Some(element) = self.reader.read_next_element()? {
            if element.name() == "body" {
                return self.read_element();
            }
        }
        Ok(())
    }

    /// Reads the rest of the element that began last.
    fn read_element(&mut self) -> Result<(), DocumentError> {
        while let Some(token) = self.reader.read_next_token()? {
            match token {
                XmlToken::Open(element) if self.is_not_shown(&element) => self.reader.skip_element()?,
                XmlToken::Open(element) => self.begin_element(&element),
                XmlToken::Close(_) => match self.open.pop() {
                    Some(place) => self.end_element(place),
                    None => break,
                },
                XmlToken::Text(words) if self.paragraphs > 0 && self.hiding == 0 => {
                    self.story
                        .push_paragraph_text(&words.replace(['\n', '\r', '\t'], " "));
                }
                XmlToken::Text(_) => {}
            }
            if self.story.is_limit_reached() {
                break;
            }
        }
        Ok(())
    }

    fn is_not_shown(&self, element: &Element<'_>) -> bool {
        let is_date_of_comment =
            element.name() == "date" && matches!(self.open.last(), Some(OpenPlace::Note(_)));
        // A section with a condition tells beside it whether it is hidden now.
        let is_hidden_section = element.name() == "section"
            && (element.find_attribute("display").as_deref() == Some("none")
                || element.is_attribute_set("is-hidden"));
        is_hidden_section
            || is_date_of_comment
            || element.full_name() == "svg:title"
            || NOT_SHOWN.contains(&element.name())
    }

    fn begin_element(&mut self, element: &Element<'_>) {
        let style = element.find_attribute("style-name");
        let place = match element.name() {
            _ if style.as_ref().is_some_and(|style| self.hidden.contains(style)) => {
                self.hiding += 1;
                OpenPlace::Hidden
            }
            "p" | "h" => {
                let level = element.find_number("outline-level");
                self.story.set_heading(level.filter(|_| element.name() == "h"));
                self.paragraphs += 1;
                OpenPlace::Paragraph
            }
            "text-box" => self.begin_text_box(OpenPlace::Box),
            "note-body" => self.begin_text_box(OpenPlace::Note("note")),
            "annotation" => self.begin_text_box(OpenPlace::Note("comment")),
            "table" => {
                self.story.begin_table();
                OpenPlace::Table
            }
            "table-row" => OpenPlace::Row,
            "table-cell" => {
                let columns = read_count(element, "number-columns-repeated");
                let rows = read_count(element, "number-rows-spanned") - 1;
                self.story.set_cell_span(columns, CellRows::Below(rows));
                OpenPlace::Cell
            }
            "covered-table-cell" => OpenPlace::CoveredCells(read_count(element, "number-columns-repeated")),
            name => {
                if self.paragraphs > 0 && self.hiding == 0 {
                    match name {
                        "tab" => self.story.push_paragraph_text("\t"),
                        "line-break" => self.story.push_paragraph_text("\n"),
                        "s" => {
                            let count = element.find_number("c").unwrap_or(1_usize);
                            self.story
                                .push_paragraph_text(&" ".repeat(count.min(REPEATS_MAX)));
                        }
                        _ => {}
                    }
                }
                OpenPlace::Other
            }
        };
        self.open.push(place);
    }

    fn begin_text_box(&mut self, place: OpenPlace) -> OpenPlace {
        self.story.begin_text_box();
        place
    }

    fn end_element(&mut self, place: OpenPlace) {
        match place {
            OpenPlace::Hidden => self.hiding -= 1,
            OpenPlace::Paragraph => {
                self.paragraphs -= 1;
                self.story.end_paragraph();
            }
            OpenPlace::Box => {
                let lines = self.story.end_text_box();
                for line in lines {
                    self.story.push_line_after(line);
                }
                self.write_box_outside();
            }
            OpenPlace::Note(label) => {
                let line = self.story.end_text_box().join(" / ");
                if !line.trim().is_empty() {
                    self.story.push_line_after(format!("[{label}] {}", line.trim()));
                }
                self.write_box_outside();
            }
            OpenPlace::Table => self.story.end_whole_table(),
            OpenPlace::Row => self.story.end_table_row(),
            OpenPlace::Cell => self.story.end_table_cell(),
            OpenPlace::CoveredCells(count) => self.story.end_covered_cells(count),
            OpenPlace::Other => {}
        }
    }

    /// Ends the line of a box that stands in no paragraph.
    fn write_box_outside(&mut self) {
        if self.paragraphs == 0 {
            self.story.end_paragraph();
        }
    }
}
