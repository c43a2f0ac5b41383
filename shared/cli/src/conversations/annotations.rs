//! Formats the labels and notes of a conversation.

use crate::instant::format_clock_time;
use crate::json_fields::{join_texts, list_items, number_or_zero, text_or_dash};
use crate::text_lines::{WIDTH, wrap_text};
use serde_json::Value;

/// Formats the labels of a conversation.
pub(super) fn format_labels(answer: &Value) -> String {
    let labels = join_texts(answer, "labels");
    if labels.is_empty() {
        return "No labels.\n".to_owned();
    }
    format!("Labels: {labels}\n")
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
    use serde_json::json;

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
