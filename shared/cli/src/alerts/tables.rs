//! Formats alerts and notifications for people.

use crate::dlq::tables::format_more;
use crate::instant::format_local_time;
use crate::json_fields::{format_cell, list_items};
use crate::text_lines::{WIDTH, wrap_text};
use recado_machine::style::{Paint, paint_text};
use serde_json::Value;
use std::fmt::Write;

/// Formats a list of alerts, two lines for each.
pub(super) fn format_alerts(answer: &Value) -> String {
    if list_items(answer, "items").is_empty() {
        return "No alerts.\n".to_owned();
    }
    let mut text = String::new();
    for alert in list_items(answer, "items") {
        let end = match format_cell(alert, "ended_at").as_str() {
            "-" => format!("recado alerts runbook {}", format_cell(alert, "kind")),
            ended => format!("over at {}", format_local_time(ended)),
        };
        let severity = format_cell(alert, "severity").to_uppercase();
        let told = format!(
            "{severity} {}: {}",
            format_cell(alert, "kind"),
            format_cell(alert, "summary")
        );
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "{}\n  since {}; {end}",
            paint_severity(&wrap_text(&told, WIDTH - 2).join("\n  "), &severity),
            format_local_time(&format_cell(alert, "since")),
        );
    }
    text + &format_more(answer)
}

/// Paints the severity at the beginning of a text.
fn paint_severity(text: &str, severity: &str) -> String {
    let paint = if severity == "CRITICAL" {
        Paint::Bad
    } else {
        Paint::Warning
    };
    let rest = text.strip_prefix(severity).unwrap_or(text);
    format!("{}{rest}", paint_text(paint, severity))
}

/// Formats a list of notifications, two lines for each.
pub(super) fn format_notifications(answer: &Value) -> String {
    if list_items(answer, "items").is_empty() {
        return "No notifications.\n".to_owned();
    }
    let line = |notification: &Value| {
        format!(
            "{} to {}: {}\n  {} attempts, last error: {}; made at {}\n",
            format_cell(notification, "id"),
            format_cell(notification, "destination"),
            format_cell(notification, "subject"),
            format_cell(notification, "attempts"),
            format_cell(notification, "last_error"),
            format_local_time(&format_cell(notification, "created_at")),
        )
    };
    list_items(answer, "items").iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;
    use serde_json::json;

    #[test]
    fn an_alert_says_what_since_when_and_what_to_do() {
        let at = "2026-01-05T12:00:00Z";
        let mut alert = json!({"kind": "disconnected", "severity": "critical", "summary": "instance desk is closed",
            "since": at, "ended_at": null});
        let shown = strip_str(&format_alerts(&json!({"items": [alert], "next_cursor": null}))).to_string();
        let here = format_local_time(at);
        let expected = format!(
            "CRITICAL disconnected: instance desk is closed\n  since {here}; recado alerts runbook disconnected\n"
        );
        assert_eq!(shown, expected);
        alert["ended_at"] = json!(at);
        alert["summary"] = json!("is closed ".repeat(20));
        let shown = strip_str(&format_alerts(&json!({"items": [alert], "next_cursor": "c"}))).to_string();
        assert!(
            shown.contains(&format!("over at {here}\nThere are more: --cursor c\n")),
            "{shown}"
        );
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert_eq!(format_alerts(&json!({"items": []})), "No alerts.\n");
    }

    #[test]
    fn a_notification_says_why_it_was_given_up() {
        let given_up = json!({"items": [{"id": "alert_1", "destination": "pager", "subject": "[Recado] x", "attempts": 12,
            "last_error": "it answered 500", "created_at": "2026-01-05T12:00:00Z"}]});
        let shown = format_notifications(&given_up);
        assert!(
            shown.contains("alert_1 to pager: [Recado] x\n  12 attempts, last error: it answered 500"),
            "{shown}"
        );
    }
}
