//! Reads spreadsheets: they hold what their cells show.

use super::{CELL_MAX, REPEATS_MAX, list_hidden_styles};
use crate::package::Package;
use crate::table::{REPEATED_BYTES_MAX, TableRow, TableRowWriter, TallCells, append_plain_row};
use crate::text::{TextBuilder, clean_text_line};
use crate::xml::{Element, XmlReader, XmlToken};
use crate::{DocumentError, TextForm};
use std::borrow::Cow;
use std::collections::HashSet;

/// Maximum number of sheets that are read.
const SHEETS_MAX: usize = 200;

/// Number of columns of a sheet.
const COLUMNS: usize = 16_384;

/// Reads a spreadsheet: the sheets, rows and cells that are shown.
pub(crate) fn read_open_spreadsheet(
    package: &mut Package<'_>,
    form: TextForm,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let content = package.take_needed_part("content.xml")?;
    let hidden = list_hidden_styles(&content)?;
    let several = content.matches("<table:table ").take(2).count() > 1;
    let (mut reader, mut sheets) = (XmlReader::new(&content), 0);
    while let Some(token) = reader.read_next_token()? {
        if sheets >= SHEETS_MAX || text.is_limit_reached() {
            break;
        }
        let XmlToken::Open(element) = token else { continue };
        if element.name() != "table" {
            continue;
        }
        sheets += 1;
        if element
            .find_attribute("style-name")
            .is_some_and(|style| hidden.contains(&style))
        {
            reader.skip_element()?;
            continue;
        }
        let name = clean_text_line(&element.find_attribute("name").unwrap_or_default(), 200);
        let is_told = !name.is_empty() && (several || form == TextForm::Markdown);
        read_sheet_rows(&mut reader, is_told.then_some(name), form, text)?;
    }
    Ok(())
}

fn read_sheet_rows(
    reader: &mut XmlReader<'_>,
    mut name: Option<String>,
    form: TextForm,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let (mut table, mut depth) = (TableRowWriter::default(), 1_u32);
    let (mut tall, mut next) = (TallCells::default(), 0_usize);
    let (mut hidden, mut columns) = (HashSet::new(), 0_usize);
    while depth > 0 && !text.is_limit_reached() {
        match reader.read_next_token()? {
            Some(XmlToken::Open(element)) if element.name() == "table-column" => {
                let first = columns;
                columns = first
                    .saturating_add(read_count(&element, "number-columns-repeated"))
                    .min(COLUMNS);
                if !is_visible(&element) {
                    hidden.extend(first..columns);
                }
                reader.skip_element()?;
            }
            Some(XmlToken::Open(element)) if element.name() == "table-row" => {
                let repeats = read_count(&element, "number-rows-repeated");
                let number = next;
                next = number.saturating_add(repeats);
                if !is_visible(&element) {
                    reader.skip_element()?;
                    continue;
                }
                let mut row = read_sheet_row(reader, number, &hidden, &mut tall)?;
                tall.repeat_in_row(number, &mut row);
                if row.is_empty() {
                    continue;
                }
                match (form, name.take()) {
                    (_, None) => {}
                    (TextForm::Plain, Some(name)) => text.append_text_run(&format!("# {name}\n")),
                    (TextForm::Markdown, Some(name)) => text.append_heading(1, &name),
                }
                for _ in 0..repeats.min(REPEATS_MAX) {
                    match form {
                        TextForm::Plain => append_plain_row(&row, text),
                        TextForm::Markdown => table.write_table_row(&row, text),
                    }
                    row.comments.clear();
                }
            }
            Some(XmlToken::Open(element)) if matches!(element.name(), "shapes" | "named-expressions") => {
                reader.skip_element()?;
            }
            Some(XmlToken::Open(_)) => depth = depth.saturating_add(1),
            Some(XmlToken::Close(_)) => depth -= 1,
            Some(XmlToken::Text(_)) => {}
            None => break,
        }
    }
    table.end_whole_table(text);
    text.begin_paragraph();
    Ok(())
}

/// Returns `true` if a row or a column is shown.
fn is_visible(element: &Element<'_>) -> bool {
    element
        .find_attribute("visibility")
        .is_none_or(|shown| shown == "visible")
}

/// Returns the number of rows or columns that an attribute names; 1 if it is not there.
pub(super) fn read_count(element: &Element<'_>, name: &str) -> usize {
    element.find_number(name).unwrap_or(1_usize).max(1)
}

/// Reads the row that began last, which has this number. Cells of the `hidden` columns are left out.
fn read_sheet_row(
    reader: &mut XmlReader<'_>,
    number: usize,
    hidden: &HashSet<usize>,
    tall: &mut TallCells<'static>,
) -> Result<TableRow<'static>, DocumentError> {
    let (mut row, mut column) = (TableRow::default(), 0_usize);
    loop {
        match reader.read_next_token()? {
            Some(XmlToken::Open(element))
                if matches!(element.name(), "table-cell" | "covered-table-cell") =>
            {
                let is_wide = read_count(&element, "number-columns-spanned") > 1;
                let rows = read_count(&element, "number-rows-spanned");
                let repeats = read_count(&element, "number-columns-repeated");
                let is_own = element.name() == "table-cell";
                let is_shown = is_own && !hidden.contains(&column);
                let shown = read_sheet_cell(reader, is_shown.then_some(&mut row.comments))?;
                if is_own && !shown.is_empty() {
                    row.is_title |= is_wide && is_shown;
                    let shown: Cow<'static, str> = Cow::Owned(shown);
                    if rows > 1 && is_shown && column < COLUMNS {
                        tall.note_tall_cell(column, number.saturating_add(rows - 1), is_wide, shown.clone());
                    }
                    // Only short texts stand in several cells side by side.
                    let told = if shown.len() > REPEATED_BYTES_MAX {
                        1
                    } else {
                        repeats.min(REPEATS_MAX)
                    };
                    let places = column..column.saturating_add(told).min(COLUMNS);
                    let places = places.filter(|place| !hidden.contains(place));
                    row.cells.extend(places.map(|place| (place, shown.clone())));
                }
                column = column.saturating_add(repeats);
            }
            Some(XmlToken::Open(_)) => reader.skip_element()?,
            Some(XmlToken::Text(_)) => {}
            Some(XmlToken::Close(_)) | None => return Ok(row),
        }
    }
}

/// Reads what the cell or the comment shows that began last. Its paragraphs stand in one line. Comments at the cell go to `comments`.
fn read_sheet_cell(
    reader: &mut XmlReader<'_>,
    mut comments: Option<&mut Vec<String>>,
) -> Result<String, DocumentError> {
    let (mut shown, mut depth, mut paragraphs) = (String::new(), 1_u32, 0_u32);
    while depth > 0 {
        match reader.read_next_token()? {
            Some(XmlToken::Open(element)) if element.name() == "annotation" => match &mut comments {
                Some(comments) => {
                    let words = read_sheet_cell(reader, None)?;
                    comments.extend((!words.is_empty()).then_some(words));
                }
                None => reader.skip_element()?,
            },
            Some(XmlToken::Open(element)) => {
                depth = depth.saturating_add(1);
                if paragraphs > 0 || element.name() == "p" {
                    paragraphs += 1;
                }
                if matches!(element.name(), "p" | "s" | "tab" | "line-break") {
                    shown.push(' ');
                }
            }
            Some(XmlToken::Close(_)) => {
                depth -= 1;
                paragraphs = paragraphs.saturating_sub(1);
            }
            Some(XmlToken::Text(words)) if paragraphs > 0 => shown.push_str(&words),
            Some(XmlToken::Text(_)) => {}
            None => break,
        }
    }
    Ok(clean_text_line(&shown, CELL_MAX))
}
