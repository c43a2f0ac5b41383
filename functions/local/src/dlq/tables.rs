//! Formats answers for people.

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use serde_json::Value;

/// Formats rows as a table without lines, two blanks between columns. Each column is as wide as its longest cell.
pub(crate) fn format_table(heading: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING).add_rows(rows);
    if !heading.is_empty() {
        table.set_header(heading);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    format!("{}\n", table.trim_fmt())
}

/// Returns the fields `columns` of each item of an answer, `-` for one that is missing.
pub(crate) fn collect_rows(answer: &Value, columns: &[&str]) -> Vec<Vec<String>> {
    let cell = |item: &Value, name: &str| match item.get(name) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let items = answer.get("items").and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .map(|item| columns.iter().map(|name| cell(item, name)).collect())
        .collect()
}

/// Formats a list of dead letters.
pub(super) fn format_dead_letters(answer: &Value) -> String {
    let columns = ["at", "queue", "reason", "instance_id", "attempts", "what", "id"];
    let rows = collect_rows(answer, &columns);
    if rows.is_empty() {
        return "No dead letters.\n".to_owned();
    }
    let mut all = format_table(&columns, rows);
    if let Some(cursor) = answer.get("next_cursor").and_then(Value::as_str) {
        all.push_str("There are more: --cursor ");
        all.push_str(cursor);
        all.push('\n');
    }
    all
}

/// Formats a list of deletions.
pub(super) fn format_deletions(answer: &Value) -> String {
    let columns = ["at", "by", "queue", "reason", "instance_id", "what", "id"];
    let rows = collect_rows(answer, &columns);
    if rows.is_empty() {
        return "None was deleted.\n".to_owned();
    }
    format_table(&columns, rows)
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
    use serde_json::json;

    #[test]
    fn a_table_is_as_wide_as_it_needs_to_be() {
        let answer = json!({"items": [
            {"at": "2026-01-05T12:00:00Z", "queue": "outbound", "reason": "window_closed", "instance_id": null,
             "attempts": 2, "what": "message", "id": "x"},
        ], "next_cursor": "c"});
        let shown = format_dead_letters(&answer);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].find("queue"), lines[1].find("outbound"));
        assert_eq!(lines[0].find("instance_id"), lines[1].find("-  "));
        assert_eq!(lines[2], "There are more: --cursor c");
        assert_eq!(format_dead_letters(&json!({"items": []})), "No dead letters.\n");
    }

    #[test]
    fn an_object_is_shown_a_field_a_line_and_what_it_holds_below_each_other() {
        let shown = format_fields(&json!({"instance_id": null}));
        assert_eq!(shown, "instance id  -\n");
        let shown = format_fields(&json!({"payload": {"a": 1}}));
        assert_eq!(shown, "payload  {\n           \"a\": 1\n         }\n");
    }
}
