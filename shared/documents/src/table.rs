//! Reads the rows of a CSV file.

use crate::text::TextBuilder;

/// The characters that may stand between cells. The one that is most often in the first row does.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// Reads the rows: each is a paragraph that names the column before each cell, if the first row has names.
pub(crate) fn read_table_rows(table: &str, text: &mut TextBuilder) {
    let mut rest = table.trim_start_matches(['\r', '\n']);
    let separator = find_separator(rest);
    let mut names: Option<Vec<String>> = None;
    while !rest.is_empty() && !text.is_limit_reached() {
        let (cells, after) = split_row(rest, separator);
        rest = after;
        match &names {
            None if is_row_of_names(&cells) => names = Some(cells),
            None => {
                names = Some(Vec::new());
                append_row(&cells, &[], text);
            }
            Some(names) => append_row(&cells, names, text),
        }
    }
    // A file that has nothing but names is told as it is.
    if let Some(names) = names.filter(|_| text.is_empty()) {
        append_row(&names, &[], text);
    }
}

fn append_row(cells: &[String], names: &[String], text: &mut TextBuilder) {
    let mut parts = Vec::new();
    for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
        match names.get(column).filter(|name| !name.is_empty()) {
            Some(name) => parts.push(format!("{name}: {cell}")),
            None => parts.push(cell.clone()),
        }
    }
    if !parts.is_empty() {
        text.append_text_run(&parts.join("; "));
        text.begin_paragraph();
    }
}

/// Returns `true` for a first row that names its columns: several cells, none of them a number.
fn is_row_of_names(cells: &[String]) -> bool {
    let is_number = |cell: &String| {
        cell.contains(|c: char| c.is_ascii_digit()) && !cell.contains(|c: char| c.is_alphabetic())
    };
    cells.iter().filter(|cell| !cell.is_empty()).count() > 1 && !cells.iter().any(is_number)
}

fn find_separator(table: &str) -> char {
    let first = table.lines().next().unwrap_or_default();
    let count = |separator: &char| first.matches(*separator).count();
    // Of equal ones the first.
    let best = SEPARATORS.iter().rev().max_by_key(|separator| count(separator));
    best.copied().unwrap_or(',')
}

/// Returns the cells of the first row, and what follows it. Within quotes a separator and a line end are text.
fn split_row(table: &str, separator: char) -> (Vec<String>, &str) {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut rest = table.char_indices().peekable();
    let mut end = table.len();
    while let Some((place, character)) = rest.next() {
        match character {
            '"' if quoted && rest.peek().is_some_and(|(_, next)| *next == '"') => {
                cell.push('"');
                rest.next();
            }
            '"' if quoted || cell.trim().is_empty() => quoted = !quoted,
            '\n' if !quoted => {
                end = place + 1;
                break;
            }
            _ if character == separator && !quoted => cells.push(clean_cell(&std::mem::take(&mut cell))),
            _ => cell.push(character),
        }
    }
    cells.push(clean_cell(&cell));
    (cells, &table[end..])
}

fn clean_cell(cell: &str) -> String {
    cell.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: &str) -> String {
        let mut text = TextBuilder::with_char_limit(1_000);
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
    }

    #[test]
    fn a_table_without_names_a_list_and_names_alone_are_told_as_they_are() {
        assert_eq!(read("Cleaning,90\nX-ray,40"), "Cleaning; 90\n\nX-ray; 40");
        assert_eq!(read("one\ntwo"), "one\n\ntwo");
        assert_eq!(read("Service,Price\n"), "Service; Price");
        assert_eq!(read("#a,b\n# c,`d"), "#a: # c; b: `d".replacen('#', "    #", 1));
        assert_eq!(read(""), "");
        assert_eq!(read("\"open"), "open");
    }
}
