//! Formats answers for people.

use crate::instant::{format_local_time, format_time_of_year};
use crate::json_fields::{find_text, format_cell, list_items, text_or_dash};
use crate::text_lines::{WIDTH, cut_text};
use comfy_table::presets::NOTHING;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr;

/// Formats rows as a table without lines, two blanks between columns. Each column is as wide as its longest cell; if the
/// table is wider than [`WIDTH`] then, the cells of columns with long texts are broken.
pub fn format_table(heading: &[&str], rows: Vec<Vec<String>>) -> String {
    let texts: Vec<usize> = find_text_columns(&rows);
    let mut table = Table::new();
    table.load_preset(NOTHING).add_rows(rows);
    if !heading.is_empty() {
        table.set_header(heading);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let whole = format!("{}\n", table.trim_fmt());
    if texts.is_empty() || whole.lines().all(|line| line.width() <= WIDTH) {
        return whole;
    }
    table.set_content_arrangement(ContentArrangement::Dynamic);
    // The blanks behind the last column are cut off.
    table.set_width(u16::try_from(WIDTH + 2).unwrap_or(u16::MAX));
    for (number, column) in table.column_iter_mut().enumerate() {
        if !texts.contains(&number) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    format!("{}\n", table.trim_fmt())
}

/// The longest cell of a column that is never broken.
const WHOLE_CELL_MAX: usize = 20;

/// Finds the columns that may be broken: those with long cells of several words. Ids, numbers and times stay whole.
fn find_text_columns(rows: &[Vec<String>]) -> Vec<usize> {
    let is_text = |number: &usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(*number));
        cells.any(|cell| cell.width() > WHOLE_CELL_MAX && cell.contains(' '))
    };
    let columns = rows.first().map_or(0, Vec::len);
    (0..columns).filter(is_text).collect()
}

/// Returns the fields `columns` of each item of an answer, `-` for one that is missing.
pub(crate) fn collect_rows(answer: &Value, columns: &[&str]) -> Vec<Vec<String>> {
    let cells = |item: &Value| columns.iter().map(|name| format_cell(item, name)).collect();
    list_items(answer, "items").iter().map(cells).collect()
}

/// A table of the items of an answer.
#[derive(Debug)]
pub(crate) struct AnswerTable {
    /// The sentence in place of a table without rows.
    pub(crate) nothing: &'static str,
    /// The headings of the columns, where they are not the names of the fields.
    pub(crate) headings: &'static [&'static str],
    /// The fields of an item that the columns show.
    pub(crate) fields: &'static [&'static str],
    /// The fields that are instants. With lines below, the first column is one in any case, and is shown without the year.
    pub(crate) times: &'static [&'static str],
    /// The fields that stand below each row, each on a line: first an id, which is never cut.
    pub(crate) below: &'static [&'static str],
}

impl AnswerTable {
    /// A table without columns.
    pub(crate) const EMPTY: Self = Self {
        nothing: "",
        headings: &[],
        fields: &[],
        times: &[],
        below: &[],
    };

    /// Formats the items of an answer.
    pub(crate) fn format(&self, answer: &Value) -> String {
        let mut rows = collect_rows(answer, self.fields);
        if rows.is_empty() {
            return format!("{}\n", self.nothing);
        }
        for (cell, field) in rows.iter_mut().flat_map(|row| row.iter_mut().zip(self.fields)) {
            if self.times.contains(field) {
                *cell = format_local_time(cell);
            }
        }
        let headings = if self.headings.is_empty() {
            self.fields
        } else {
            self.headings
        };
        if self.below.is_empty() {
            return format_table(headings, rows);
        }
        format_with_lines_below(headings, rows, collect_rows(answer, self.below))
    }
}

/// Says how the next page is asked for, if there is one.
pub(crate) fn format_more(answer: &Value) -> String {
    let cursor = find_text(answer, "next_cursor");
    cursor.map_or_else(String::new, |cursor| {
        format!("There are more: --cursor {cursor}\n")
    })
}

/// The list of dead letters, within 80 columns.
const DEAD_LETTERS: AnswerTable = AnswerTable {
    nothing: "No dead letters.",
    headings: &["at", "reason", "what", "tries", "instance"],
    fields: &["at", "reason", "what", "attempts", "instance_id"],
    below: &["id", "contact", "last_error"],
    ..AnswerTable::EMPTY
};

/// Formats a list of dead letters: below each its id, its contact and its error, as far as there are some.
pub(super) fn format_dead_letters(answer: &Value) -> String {
    DEAD_LETTERS.format(answer) + &format_more(answer)
}

/// Formats rows as a table, with further lines under each row. The first cell of each row is an instant. The first line
/// below is an id, which is never cut; a line that is only `-` is left out.
pub(crate) fn format_with_lines_below(
    heading: &[&str],
    mut rows: Vec<Vec<String>>,
    below: Vec<Vec<String>>,
) -> String {
    for cell in rows.iter_mut().filter_map(|row| row.first_mut()) {
        *cell = format_time_of_year(cell);
    }
    insert_lines_below(&format_table(heading, rows), below)
}

/// Inserts lines under each row of a table with a heading. The first line is never cut; a line that is only `-` is left out.
pub(crate) fn insert_lines_below(table: &str, below: Vec<Vec<String>>) -> String {
    let mut told: Vec<String> = Vec::new();
    // Nothing stands below the heading.
    for (line, below) in table.lines().zip(std::iter::once(Vec::new()).chain(below)) {
        told.push(line.to_owned());
        for (number, text) in below.iter().enumerate().filter(|(_, text)| *text != "-") {
            let line = format!("  {text}");
            told.push(if number == 0 { line } else { cut_text(&line, WIDTH) });
        }
    }
    told.join("\n") + "\n"
}

/// Formats what a deletion would find: their number by reason, and the newest.
pub(super) fn format_purge_preview(answer: &Value) -> String {
    const SHOWN: usize = 10;
    let items = list_items(answer, "items");
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for item in items {
        *reasons.entry(text_or_dash(item, "reason")).or_default() += 1;
    }
    let newest = json!({ "items": items.iter().take(SHOWN).collect::<Vec<_>>() });
    let counts = reasons.iter().map(|(reason, count)| format!("{count} {reason}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let has_more = find_text(answer, "next_cursor").is_some();
    let or_more = if has_more { " or more" } else { "" };
    let older = match items.len().saturating_sub(SHOWN) {
        0 => String::new(),
        older => format!("and {older} older ones\n"),
    };
    let sum = match items.len() {
        0 => String::new(),
        number => format!("{number}{or_more}: {counts}\n"),
    };
    format!("{}{older}{sum}", DEAD_LETTERS.format(&newest))
}

/// Formats an object, one line for each field.
pub(crate) fn format_fields(answer: &Value) -> String {
    let fields = answer.as_object().into_iter().flatten();
    let rows = fields.map(|(name, value)| {
        let value = match value {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            Value::Object(_) | Value::Array(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
            other => other.to_string(),
        };
        vec![name.replace('_', " "), value]
    });
    format_table(&[], rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The id of an event.
    const ID: &str = "cf4776b402bf56206b7659991d6cfd34cf4776b402bf56206b7659991d6cfd34";

    fn letter(reason: &str, error: Option<&str>) -> Value {
        json!({"at": "2026-01-05T12:00:00Z", "queue": "outbound", "reason": reason, "instance_id": "suporte-01",
            "attempts": 2, "what": "message", "id": ID, "last_error": error})
    }

    #[test]
    fn a_list_of_dead_letters_fits_eighty_columns() {
        let long = "HTTP 400: ".to_owned() + &"palavra ".repeat(30);
        let mut named = letter("whatsapp_permanent_error", Some(&long));
        named["contact"] = json!("Maria");
        let answer = json!({"items": [named, letter("window_closed", None)], "next_cursor": "c"});
        let shown = format_dead_letters(&answer);
        let mut lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.remove(3), "  Maria");
        assert_eq!(lines.len(), 7);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{shown}");
        assert_eq!(lines[0].find("reason"), lines[4].find("window_closed"));
        assert_eq!(lines[0].find("instance"), lines[4].find("suporte-01"));
        assert_eq!(lines[2], format!("  {ID}"));
        assert!(lines[3].starts_with("  HTTP 400: palavra") && lines[3].ends_with('…'));
        assert_eq!(lines[5], format!("  {ID}"));
        assert_eq!(lines[6], "There are more: --cursor c");
        assert_eq!(format_dead_letters(&json!({"items": []})), "No dead letters.\n");
    }

    #[test]
    fn a_wide_table_breaks_its_texts_and_keeps_its_ids_whole() {
        let row = |title: &str| vec![ID.to_owned(), title.to_owned(), "12".to_owned()];
        let narrow = format_table(&["id", "title", "n"], vec![row("ten letters")]);
        assert_eq!(
            narrow.lines().count(),
            2,
            "a short text is never broken: {narrow}"
        );
        let id = &ID[..36];
        let row = |title: &str| vec![id.to_owned(), title.to_owned(), "12".to_owned()];
        let wide = format_table(&["id", "title", "n"], vec![row("a"), row(&"palavra ".repeat(12))]);
        assert!(wide.lines().all(|line| line.chars().count() <= WIDTH), "{wide}");
        assert_eq!(wide.matches(id).count(), 2, "{wide}");
        assert_eq!(wide.matches("palavra").count(), 12, "{wide}");
    }

    #[test]
    fn a_preview_counts_by_reason_and_shows_the_newest() {
        let mut items = vec![letter("poison", None)];
        items.extend(std::iter::repeat_n(letter("window_closed", None), 11));
        let shown = format_purge_preview(&json!({"items": items, "next_cursor": null}));
        assert_eq!(shown.matches(ID).count(), 10);
        assert!(
            shown.ends_with("and 2 older ones\n12: 1 poison, 11 window_closed\n"),
            "{shown}"
        );
        let more = format_purge_preview(&json!({"items": items, "next_cursor": "c"}));
        assert!(more.contains("12 or more: "), "{more}");
        assert_eq!(format_purge_preview(&json!({"items": []})), "No dead letters.\n");
    }

    #[test]
    fn an_object_is_shown_a_field_a_line_and_what_it_holds_below_each_other() {
        let shown = format_fields(&json!({"instance_id": null}));
        assert_eq!(shown, "instance id  -\n");
        let shown = format_fields(&json!({"payload": {"a": 1}}));
        assert_eq!(shown, "payload  {\n           \"a\": 1\n         }\n");
    }
}
