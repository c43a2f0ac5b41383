//! Requests changes of labels and notes, and formats them.

use crate::installation::InstallationClient;
use crate::instant::format_clock_time;
use crate::json_fields::{list_items, number_or_zero, text_or_dash};
use crate::text_lines::{WIDTH, wrap_text};
use anyhow::Result;
use reqwest::Method;
use serde_json::{Value, json};

/// Adds labels to a conversation and removes others.
pub(super) async fn change_labels(
    there: &InstallationClient,
    id: &str,
    add: &[String],
    remove: &[String],
) -> Result<Value> {
    let request = there.build_request(Method::POST, &["v1", "conversations", id, "labels"])?;
    let body = json!({"add": add, "remove": remove});
    there.request_json(request.json(&body)).await
}

/// Formats the labels of a conversation.
pub(super) fn format_labels(answer: &Value) -> String {
    let labels = list_items(answer, "labels").iter().filter_map(Value::as_str);
    let labels: Vec<&str> = labels.collect();
    if labels.is_empty() {
        return "No labels.\n".to_owned();
    }
    format!("Labels: {}\n", labels.join(", "))
}

/// Writes a note beside a conversation.
pub(super) async fn add_note(there: &InstallationClient, id: &str, text: &str) -> Result<Value> {
    let request = there.build_request(Method::POST, &["v1", "conversations", id, "notes"])?;
    there.request_json(request.json(&json!({ "text": text }))).await
}

/// Deletes a note.
pub(super) async fn delete_note(there: &InstallationClient, id: &str, number: u64) -> Result<()> {
    let number = number.to_string();
    let request = there.build_request(Method::DELETE, &["v1", "conversations", id, "notes", &number])?;
    there.request_json(request).await.map(drop)
}

/// Lists the notes of a conversation.
pub(super) async fn list_notes(there: &InstallationClient, id: &str) -> Result<Value> {
    there.get_json(&["v1", "conversations", id, "notes"], &[]).await
}

/// Formats notes: number, writer and time of each, and its text below.
pub(super) fn format_notes(answer: &Value) -> String {
    let notes = list_items(answer, "items");
    if notes.is_empty() {
        return "No notes.\n".to_owned();
    }
    notes.iter().map(format_note).collect()
}

fn format_note(note: &Value) -> String {
    let number = number_or_zero(note, "number");
    let at = format_clock_time(text_or_dash(note, "at"));
    let mut shown = format!("{number}  {}, {at}\n", text_or_dash(note, "by"));
    for line in wrap_text(text_or_dash(note, "text"), WIDTH - 4) {
        shown.push_str("    ");
        shown.push_str(&line);
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_notes_are_shown_within_eighty_columns() {
        assert_eq!(format_labels(&json!({"labels": []})), "No labels.\n");
        let labels = json!({"labels": ["refund", "vip"]});
        assert_eq!(format_labels(&labels), "Labels: refund, vip\n");
        assert_eq!(format_notes(&json!({"items": []})), "No notes.\n");
        let text = "pays when the parcel comes ".repeat(9);
        let note = json!({"number": 3, "by": "ana", "at": "2026-01-05T12:00:00Z", "text": text});
        let shown = format_notes(&json!({ "items": [note] }));
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].starts_with("3  ana, "), "{shown}");
        assert!(
            lines.len() > 3 && lines[1].starts_with("    pays when"),
            "{shown}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{shown}");
    }
}
