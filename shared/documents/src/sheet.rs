//! Reads spreadsheets of Excel, row by row.

use crate::DocumentError;
use crate::text::TextBuilder;
use calamine::{DataRef, ExcelDateTime, Reader, Xlsx};
use std::io::Cursor;

/// Maximum number of empty cells that are told between two cells of a row.
const GAP_MAX: u32 = 20;

/// Reads the cells of all sheets. A row is a line, its cells stand side by side. The cells are read one by one: a sheet whose
/// only cells are its first and its last would fill the memory as a table.
pub(crate) fn read_spreadsheet(bytes: &[u8], text: &mut TextBuilder) -> Result<(), DocumentError> {
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(|_| DocumentError::Unreadable)?;
    let names = book.sheet_names();
    let several = names.len() > 1;
    for name in names {
        // A sheet may be a chart, which has no cells.
        let Ok(mut cells) = book.worksheet_cells_reader(&name) else {
            continue;
        };
        if several {
            text.append_text_run(&format!("# {name}\n"));
        }
        let mut place = (None, 0);
        while !text.is_limit_reached() {
            let cell = match cells.next_cell() {
                Ok(Some(cell)) => cell,
                Ok(None) => break,
                Err(_) => return Err(DocumentError::Unreadable),
            };
            let words = render_cell_value(cell.get_value());
            if words.is_empty() {
                continue;
            }
            let (row, column) = cell.get_position();
            let gap = match place {
                (Some(last), next) if last == row => column.saturating_sub(next).saturating_add(1),
                _ => {
                    text.end_current_line();
                    column
                }
            };
            text.append_text_run(&"\t".repeat(gap.min(GAP_MAX) as usize));
            text.append_text_run(&words.replace(['\n', '\r'], " "));
            place = (Some(row), column.saturating_add(1));
        }
        text.end_current_line();
        text.append_character('\n');
    }
    Ok(())
}

fn render_cell_value(cell: &DataRef<'_>) -> String {
    match cell {
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number.to_string(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(is_true) => is_true.to_string(),
        DataRef::DateTime(time) => render_cell_time(*time),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::Error(error) => error.to_string(),
        DataRef::Empty => String::new(),
    }
}

/// Renders a date, a time of the day or both, as far as the cell has them.
fn render_cell_time(time: ExcelDateTime) -> String {
    if time.is_duration() {
        return format!("{} days", time.as_f64());
    }
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    let clock = format!("{hour:02}:{minute:02}:{second:02}");
    match (time.as_f64() < 1.0, (hour, minute, second) == (0, 0, 0)) {
        (true, _) => clock,
        (false, true) => date,
        (false, false) => format!("{date} {clock}"),
    }
}
