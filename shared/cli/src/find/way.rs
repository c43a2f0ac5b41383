//! Formats the way of a message: each step with its time and the wait before it.

use crate::instant::{format_clock_time, format_seconds};
use crate::json_fields::{find_text, text_or_dash};
use crate::text_lines::{WIDTH, cut_text};
use recado_machine::style::{Paint, paint_text};
use serde_json::Value;

/// Details of a step that are shown, in this order.
const DETAILS: &str = "no_answer waits_for until reason why model by status typed_on";

/// Formats the steps, one in each line.
pub(super) fn format_way(way: &[Value]) -> String {
    way.iter().map(format_way_step).collect()
}

fn format_way_step(entry: &Value) -> String {
    let step = text_or_dash(entry, "step");
    let at = find_text(entry, "at");
    let at = at.map_or_else(|| "not yet".to_owned(), format_clock_time);
    let wait = entry.get("wait_ms").and_then(Value::as_f64);
    let wait = wait.map_or_else(String::new, |wait| format!("+{}", format_seconds(wait / 1000.0)));
    let details = DETAILS.split(' ');
    let details = details.filter_map(|name| format_step_detail(entry.get("detail")?, name));
    let details = details.collect::<Vec<_>>().join(", ");
    let line = format!("{step:<13} {at:<14}  {wait:>11}  {details}");
    let line = cut_text(line.trim_end(), WIDTH);
    match line.split_at_checked(step.len()) {
        Some((step, rest)) => format!("{}{rest}\n", paint_text(choose_step_paint(step), step)),
        None => format!("{line}\n"),
    }
}

fn choose_step_paint(step: &str) -> Paint {
    match step {
        "dead" | "failed" | "unknown" | "cancelled" => Paint::Bad,
        "sent" | "delivered" | "read" => Paint::Good,
        _ => Paint::Title,
    }
}

fn format_step_detail(detail: &Value, name: &str) -> Option<String> {
    let text = match detail.get(name)? {
        Value::Null => return None,
        Value::String(text) => format_clock_time(text),
        other => other.to_string(),
    };
    Some(format!("{}: {text}", name.replace('_', " ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;
    use serde_json::json;

    #[test]
    fn each_step_has_its_wait_and_what_it_tells() {
        let way = [
            json!({"step": "received", "at": "2026-03-01T08:00:00Z", "wait_ms": null, "detail": {"event_id": "e"}}),
            json!({"step": "turn", "at": null, "wait_ms": null,
                "detail": {"waits_for": "hours", "until": "2026-03-01T08:00:00Z", "attempts": 0}}),
            json!({"step": "queued_again", "at": "2026-03-01T08:00:04.1Z", "wait_ms": 4100, "detail": {"why": "x".repeat(99)}}),
        ];
        let shown = strip_str(&format_way(&way)).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].starts_with("received      0"), "{shown}");
        assert!(lines[1].starts_with("turn          not yet"), "{shown}");
        assert!(lines[1].contains("waits for: hours, until: 0"), "{shown}");
        assert!(
            lines[2].contains("      +4.1 s  why: xxx") && lines[2].ends_with('…'),
            "{shown}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{shown}");
    }
}
