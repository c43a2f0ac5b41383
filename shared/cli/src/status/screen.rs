//! Formats the status for a screen of 80 columns.

use crate::instant::{format_local_time, format_seconds};
use crate::json_fields::{find_text, is_field_true, list_items, number_or_zero, text_or_dash};
use crate::text_lines::{WIDTH, cut_text, wrap_text};
use recado_domain::counting::count_things;
use recado_machine::style::{Paint, paint_text};
use serde_json::Value;

/// The width of the titles at the left.
const TITLE: usize = 15;

/// The most lines of a list.
const LINES_MAX: usize = 12;

/// Formats the status, a section for each subject.
pub(super) fn format_status(status: &Value) -> String {
    let health = &status["health"];
    let grade = text_or_dash(status, "status");
    let problem = find_text(&status["service"], "problem");
    let problem = problem.map(|problem| paint_text(Paint::Bad, &cut_text(problem, WIDTH)) + "\n");
    let head = format!(
        "Recado {} at {}: {}\n{}\n",
        text_or_dash(status, "version"),
        text_or_dash(status, "url"),
        paint_text(choose_grade_paint(grade), grade),
        problem.unwrap_or_default()
    );
    let sections = [
        ("Instances", format_instances(health)),
        ("Queues", format_queues(health)),
        ("Messages", format_open_work(health)),
        ("People", format_waiting(&status["waiting_for_a_person"])),
        ("Dead letters", vec![format_dead_letters(health)]),
        ("Alerts", format_alerts(&status["alerts"])),
        ("Replies", vec![format_replies(&status["replies"])]),
        ("Last 24 hours", format_trends(&status["last_24_hours"])),
    ];
    head + &sections
        .map(|(title, lines)| format_section(title, &lines))
        .concat()
}

fn format_section(title: &str, lines: &[String]) -> String {
    let mut told = String::new();
    for (number, line) in lines.iter().enumerate() {
        let title = if number == 0 { title } else { "" };
        told.push_str(&paint_text(Paint::Title, &format!("{title:<TITLE$}")));
        told.push_str(line);
        told.push('\n');
    }
    told
}

fn choose_grade_paint(grade: &str) -> Paint {
    match grade {
        "healthy" => Paint::Good,
        "unhealthy" => Paint::Bad,
        _ => Paint::Warning,
    }
}

/// Formats the instances, those that cannot send first.
fn format_instances(health: &Value) -> Vec<String> {
    let mut instances: Vec<&Value> = list_items(health, "instances").iter().collect();
    if instances.is_empty() {
        return vec!["none is configured".to_owned()];
    }
    instances.sort_by_key(|instance| text_or_dash(instance, "connection") == "open");
    let (mut lines, mut shown) = (Vec::new(), 0);
    for instance in &instances {
        if lines.len() >= LINES_MAX {
            break;
        }
        lines.extend(format_instance(instance));
        shown += 1;
    }
    if let more @ 1.. = instances.len() - shown {
        lines.push(format!("and {more} more: recado status --json"));
    }
    lines
}

/// Formats an instance. Notes that have no room beside it stand below.
fn format_instance(instance: &Value) -> Vec<String> {
    let connection = text_or_dash(instance, "connection");
    let paint = if connection == "open" {
        Paint::Good
    } else {
        Paint::Bad
    };
    let since = |words: &str, name: &str| {
        let at = find_text(instance, name).map(format_local_time);
        at.map(|at| format!("{words} {at}"))
    };
    let is = |name: &str, words: &str| is_field_true(instance, name).then(|| words.to_owned());
    let dead = count_field(instance, "dead_letters");
    let notes = [
        is("llm_needs_credentials", "the model's key is missing or refused"),
        since("the model fails since", "model_fails_since"),
        find_text(instance, "refusal").map(|why| format!("refused: {why}")),
        since("since", "since").filter(|_| connection != "open"),
        since("no first contacts before", "first_contacts_from"),
        is("simulated", "simulated"),
        since("silent since", "silent_since"),
        count_field(instance, "queue_depth").map(|count| format!("{count} open")),
        dead.map(|count| count_things(count, "dead letter")),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let (id, provider) = (text_or_dash(instance, "id"), text_or_dash(instance, "provider"));
    let (id, provider) = (cut_text(id, 20), cut_text(provider, 10));
    let notes = notes.join(", ");
    let has_room = notes.chars().count() <= WIDTH - TITLE - NOTES_COLUMN;
    let blanks = 10_usize.saturating_sub(connection.len());
    let line = format!(
        "{id:<20} {provider:<10} {}{:blanks$} {}",
        paint_text(paint, connection),
        "",
        if has_room { notes.as_str() } else { "" }
    );
    let mut lines = vec![line.trim_end().to_owned()];
    if !has_room {
        lines.push(format!("  {}", cut_text(&notes, WIDTH - TITLE - 2)));
    }
    lines
}

/// Returns a field that is a number above 0.
fn count_field(value: &Value, name: &str) -> Option<u64> {
    Some(number_or_zero(value, name)).filter(|count| *count > 0)
}

/// Formats the age of the oldest message of a queue or of all, if something waits.
fn format_oldest(value: &Value) -> Option<String> {
    let oldest = count_field(value, "oldest_message_age_seconds")?;
    let seconds = f64::from(u32::try_from(oldest).unwrap_or(u32::MAX));
    Some(format!("the oldest for {}", format_seconds(seconds)))
}

/// The column of the notes of an instance, behind its id, provider and connection.
const NOTES_COLUMN: usize = 43;

/// Formats the queues in which something waits. A token of one tenant does not see them.
fn format_queues(health: &Value) -> Vec<String> {
    let queues = health.get("queues").and_then(Value::as_object);
    let Some(queues) = queues.filter(|queues| !queues.is_empty()) else {
        return Vec::new();
    };
    let parts = queues.iter().filter_map(|(name, queue)| {
        let waiting = count_field(queue, "waiting");
        let told = [
            waiting.map(|count| format!("{count} waiting")),
            count_field(queue, "in_flight").map(|count| format!("{count} in work")),
            count_field(queue, "delayed").map(|count| format!("{count} for later")),
            waiting.and_then(|_| format_oldest(queue)),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        (!told.is_empty()).then(|| cut_text(&format!("{name}: {}", told.join(", ")), WIDTH - TITLE))
    });
    let lines: Vec<String> = parts.collect();
    if lines.is_empty() {
        return vec!["empty".to_owned()];
    }
    lines
}

/// Formats what is open: messages, unknown outcomes, parked conversations.
fn format_open_work(health: &Value) -> Vec<String> {
    let count = |field: &str| number_or_zero(health, field);
    if count("open") + count("unknown") + count("parked_conversations") == 0 {
        return vec!["none is open".to_owned()];
    }
    let is_at_least = is_field_true(health, "at_least");
    let at_least = if is_at_least { " or more" } else { "" };
    let parked = count_field(health, "parked_conversations");
    let told = [
        Some(format!("{}{at_least} open", count("open"))),
        format_oldest(health),
        count_field(health, "unknown").map(|count| format!("{count} of unknown outcome")),
        parked.map(|count| count_things(count, "conversation") + " parked"),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    wrap_text(&told.join(", "), WIDTH - TITLE)
}

fn format_waiting(waiting: &Value) -> Vec<String> {
    let count = number_or_zero(waiting, "conversations");
    if count == 0 {
        return vec![paint_text(Paint::Good, "nobody waits for a person")];
    }
    let waits = match (count, is_field_true(waiting, "at_least")) {
        (_, true) => format!("{count} or more conversations wait"),
        (1, false) => "1 conversation waits".to_owned(),
        (_, false) => format!("{count} conversations wait"),
    };
    let since = find_text(waiting, "since").map(format_local_time);
    let since = since.map_or_else(String::new, |at| format!(", since {at}"));
    let told = cut_text(&format!("{waits} for a person{since}"), WIDTH - TITLE);
    let told = paint_text(Paint::Warning, &told);
    vec![told, "recado conversations --waiting".to_owned()]
}

fn format_dead_letters(health: &Value) -> String {
    match number_or_zero(health, "dlq_depth") {
        0 => paint_text(Paint::Good, "none"),
        count => format!("{} (recado dlq list)", paint_text(Paint::Bad, &count.to_string())),
    }
}

fn format_alerts(alerts: &Value) -> Vec<String> {
    let alerts = alerts.as_array().map_or(&[][..], Vec::as_slice);
    if alerts.is_empty() {
        return vec![paint_text(Paint::Good, "none")];
    }
    let mut lines: Vec<String> = alerts.iter().take(LINES_MAX).map(format_alert_line).collect();
    if alerts.len() > LINES_MAX {
        lines.push(format!("and {} more: recado alerts", alerts.len() - LINES_MAX));
    }
    lines
}

fn format_alert_line(alert: &Value) -> String {
    let severity = text_or_dash(alert, "severity");
    let paint = if severity == "critical" {
        Paint::Bad
    } else {
        Paint::Warning
    };
    let (kind, summary) = (text_or_dash(alert, "kind"), text_or_dash(alert, "summary"));
    let told = format!("{kind}: {summary}");
    let told = cut_text(&told, WIDTH - TITLE - severity.len() - 1);
    format!("{} {told}", paint_text(paint, severity))
}

fn format_replies(replies: &Value) -> String {
    let today = format!("{} written today (UTC)", number_or_zero(replies, "today"));
    let seconds = |name: &str| replies.get(name).and_then(Value::as_f64).map(format_seconds);
    match (seconds("p50_seconds"), seconds("p95_seconds")) {
        (Some(half), Some(most)) => format!("{today}; half within {half}, 95 % within {most}"),
        (Some(half), None) => format!("{today}; half within {half}"),
        _ => today,
    }
}

fn format_trends(trends: &Value) -> Vec<String> {
    if number_or_zero(trends, "minutes") == 0 {
        return vec!["no minute was sampled yet".to_owned()];
    }
    let average = trends["depth_average"].as_f64().unwrap_or_default();
    let mut lines = vec![format!(
        "{average:.1} messages waited on average, {} at most; {}",
        number_or_zero(trends, "depth_max"),
        count_things(number_or_zero(trends, "dead_letters_added"), "new dead letter")
    )];
    let down = list_items(trends, "instances").iter().filter_map(|one| {
        let minutes = count_things(count_field(one, "disconnected_minutes")?, "minute");
        let line = format!("{} was not connected for {minutes}", text_or_dash(one, "id"));
        Some(cut_text(&line, WIDTH - TITLE))
    });
    let mut down: Vec<String> = down.collect();
    if let more @ 1.. = down.len().saturating_sub(LINES_MAX) {
        down.truncate(LINES_MAX);
        down.push(format!("and {more} more: recado trends"));
    }
    lines.extend(down);
    lines
}

#[cfg(test)]
mod tests;
