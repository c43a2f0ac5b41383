//! Reads spreadsheets of Excel, row by row, with the values that Excel shows.

mod cells;
mod comments;
mod decimal;
mod escapes;
mod number_format;
mod serial_time;
mod styles;
mod tokens;

use crate::package::Package;
use crate::table::{TableRowWriter, append_plain_row};
use crate::text::{TextBuilder, clean_text_line};
use crate::xml::{XmlReader, XmlToken};
use crate::{DocumentError, TextForm};
use cells::RowReader;
use comments::read_sheet_comments;
use escapes::resolve_escapes;
use serial_time::DateSystem;
use styles::CellStyles;

/// Maximum number of sheets that are read.
const SHEETS_MAX: usize = 200;

/// Maximum number of characters of a cell, as in Excel, and of a sheet's name.
const CELL_MAX: usize = 32_767;
const NAME_MAX: usize = 200;

/// The parts of a workbook to which the cells of all sheets refer.
#[derive(Debug)]
struct Book {
    shared: Vec<Box<str>>,
    styles: CellStyles,
    dates: DateSystem,
}

/// A sheet as the workbook lists it.
#[derive(Debug)]
struct ListedSheet {
    name: String,
    relation: String,
}

/// Reads the cells of all sheets that are shown, in the order of the workbook.
pub(crate) fn read_spreadsheet(
    package: &mut Package<'_>,
    form: TextForm,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let document = package.find_document("xl/workbook.xml")?;
    let (sheets, dates) = list_sheets(&package.take_needed_part(&document)?)?;
    let relations = package.take_relations(&document)?;
    let shared = package.take_related_part(&relations, "sharedStrings")?;
    let styles = package.take_related_part(&relations, "styles")?;
    let book = Book {
        shared: read_shared_texts(&shared.unwrap_or_default())?,
        styles: CellStyles::parse_styles(&styles.unwrap_or_default())?,
        dates,
    };
    let several = sheets.len() > 1;
    for sheet in sheets {
        if text.is_limit_reached() {
            break;
        }
        // A sheet may be a chart, which has no cells.
        let relation = relations.get(&sheet.relation);
        let Some(relation) = relation.filter(|relation| relation.kind == "worksheet") else {
            continue;
        };
        // Each part is read once, however many sheets lead to it.
        let Some(part) = package.take_package_part(&relation.target)? else {
            continue;
        };
        let name = match form {
            TextForm::Plain if !several => None,
            _ => Some(sheet.name.as_str()),
        };
        let comments = read_sheet_comments(package, &relation.target, text)?;
        let rows = RowReader::new(&part, &book, comments);
        read_sheet_rows(rows, name, form, text)?;
    }
    Ok(())
}

/// Returns the sheets that are shown, and from which day the dates are counted.
fn list_sheets(workbook: &str) -> Result<(Vec<ListedSheet>, DateSystem), DocumentError> {
    let mut reader = XmlReader::new(workbook);
    let (mut sheets, mut dates) = (Vec::new(), DateSystem::From1900);
    while let Some(element) = reader.read_next_element()? {
        match element.name() {
            "workbookPr" if element.is_attribute_set("date1904") => dates = DateSystem::From1904,
            "sheet" if sheets.len() < SHEETS_MAX => {
                let is_shown = element
                    .find_attribute("state")
                    .is_none_or(|state| state == "visible");
                if let Some(relation) = element.relation_id().filter(|_| is_shown) {
                    let name = element.find_attribute("name").unwrap_or_default();
                    let name = clean_text_line(&name, NAME_MAX);
                    sheets.push(ListedSheet { name, relation });
                }
            }
            _ => {}
        }
    }
    Ok((sheets, dates))
}

/// Reads the texts to which cells of all sheets refer.
fn read_shared_texts(part: &str) -> Result<Vec<Box<str>>, DocumentError> {
    let (mut reader, mut texts) = (XmlReader::new(part), Vec::new());
    while let Some(element) = reader.read_next_element()? {
        if element.name() == "si" {
            texts.push(read_rich_text(&mut reader)?.into_boxed_str());
        }
    }
    Ok(texts)
}

/// Reads the text of the element that began last. Its runs belong together, and how a word is pronounced is left out.
fn read_rich_text(reader: &mut XmlReader<'_>) -> Result<String, DocumentError> {
    let (mut words, mut depth, mut is_text) = (String::new(), 1_u32, false);
    while depth > 0 {
        match reader.read_next_token()? {
            Some(XmlToken::Open(element)) if element.name() == "rPh" => reader.skip_element()?,
            Some(XmlToken::Open(element)) => {
                is_text = element.name() == "t";
                depth = depth.saturating_add(1);
            }
            Some(XmlToken::Close(_)) => {
                is_text = false;
                depth -= 1;
            }
            Some(XmlToken::Text(part)) if is_text => words.push_str(&part),
            Some(XmlToken::Text(_)) => {}
            None => break,
        }
    }
    Ok(clean_text_line(&resolve_escapes(&words), CELL_MAX))
}

/// Reads a sheet. Its name stands before its first row.
fn read_sheet_rows(
    mut rows: RowReader<'_>,
    name: Option<&str>,
    form: TextForm,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let mut table = TableRowWriter::default();
    let mut name = name.filter(|name| !name.is_empty());
    while !text.is_limit_reached() {
        let Some(row) = rows.read_next_row()? else { break };
        if row.is_empty() {
            continue;
        }
        match (form, name.take()) {
            (_, None) => {}
            (TextForm::Plain, Some(name)) => text.append_text_run(&format!("# {name}\n")),
            (TextForm::Markdown, Some(name)) => text.append_heading(1, name),
        }
        match form {
            TextForm::Plain => append_plain_row(&row, text),
            TextForm::Markdown => table.write_table_row(&row, text),
        }
    }
    table.end_whole_table(text);
    text.begin_paragraph();
    Ok(())
}
