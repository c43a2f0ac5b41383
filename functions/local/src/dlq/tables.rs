//! Formats answers for people.

use serde_json::Value;

/// Formats a table with a heading. Each column is as wide as its longest cell.
fn format_table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heading[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let mut all = line(heading);
    for row in rows {
        all.push_str(&line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    all
}

fn collect_rows(answer: &Value, columns: &[&str]) -> Vec<Vec<String>> {
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
    let mut all = format_table(&columns, &rows);
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
    format_table(&columns, &rows)
}

/// Formats an object, one line for each field.
pub(super) fn format_fields(answer: &Value) -> String {
    let fields = answer.as_object().into_iter().flatten();
    let rows: Vec<(String, String)> = fields
        .map(|(name, value)| {
            let value = match value {
                Value::Null => "-".to_owned(),
                Value::String(text) => text.clone(),
                Value::Object(_) | Value::Array(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
                other => other.to_string(),
            };
            (name.replace('_', " "), value)
        })
        .collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<String> = rows
        .iter()
        .map(|(name, value)| format!("{name:<width$}  {value}\n"))
        .collect();
    lines.concat()
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
}
