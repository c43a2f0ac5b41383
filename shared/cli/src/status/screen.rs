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
    let head = format!(
        "Recado {} at {}: {}\n{}\n",
        text_or_dash(status, "version"),
        text_or_dash(status, "url"),
        paint_text(choose_grade_paint(grade), grade),
        problem.map_or_else(String::new, |problem| format!(
            "{}\n",
            paint_text(Paint::Bad, &cut_text(problem, WIDTH))
        ))
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
    let sections = sections
        .into_iter()
        .map(|(title, lines)| format_section(title, &lines));
    head + &sections.collect::<String>()
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
    if instances.len() > shown {
        lines.push(format!(
            "and {} more: recado status --json",
            instances.len() - shown
        ));
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
    let since = find_text(instance, "since");
    let since = since
        .filter(|_| connection != "open")
        .map(|at| format!("since {}", format_local_time(at)));
    let count = |name: &str| number_or_zero(instance, name);
    let notes = [
        is_field_true(instance, "llm_needs_credentials")
            .then(|| "the model's key is missing or refused".to_owned()),
        find_text(instance, "model_fails_since")
            .map(|at| format!("the model fails since {}", format_local_time(at))),
        find_text(instance, "refusal").map(|why| format!("refused: {why}")),
        since,
        find_text(instance, "first_contacts_from")
            .map(|at| format!("no first contacts before {}", format_local_time(at))),
        is_field_true(instance, "simulated").then(|| "simulated".to_owned()),
        find_text(instance, "silent_since").map(|at| format!("silent since {}", format_local_time(at))),
        (count("queue_depth") > 0).then(|| format!("{} open", count("queue_depth"))),
        (count("dead_letters") > 0).then(|| count_things(count("dead_letters"), "dead letter")),
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

/// The column of the notes of an instance, behind its id, provider and connection.
const NOTES_COLUMN: usize = 43;

/// Formats the queues in which something waits. A token of one tenant does not see them.
fn format_queues(health: &Value) -> Vec<String> {
    let Some(queues) = health
        .get("queues")
        .and_then(Value::as_object)
        .filter(|queues| !queues.is_empty())
    else {
        return Vec::new();
    };
    let parts = queues.iter().filter_map(|(name, queue)| {
        let count = |field: &str| number_or_zero(queue, field);
        let oldest = count("oldest_message_age_seconds");
        let told = [
            (count("waiting") > 0).then(|| format!("{} waiting", count("waiting"))),
            (count("in_flight") > 0).then(|| format!("{} in work", count("in_flight"))),
            (count("delayed") > 0).then(|| format!("{} for later", count("delayed"))),
            (count("waiting") > 0 && oldest > 0)
                .then(|| format!("the oldest for {}", format_waiting_age(oldest))),
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
    let oldest = count("oldest_message_age_seconds");
    let at_least = if is_field_true(health, "at_least") {
        " or more"
    } else {
        ""
    };
    let told = [
        Some(format!("{}{at_least} open", count("open"))),
        (oldest > 0).then(|| format!("the oldest for {}", format_waiting_age(oldest))),
        (count("unknown") > 0).then(|| format!("{} of unknown outcome", count("unknown"))),
        (count("parked_conversations") > 0).then(|| {
            format!(
                "{} parked",
                count_things(count("parked_conversations"), "conversation")
            )
        }),
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
    vec![
        paint_text(
            Paint::Warning,
            &cut_text(&format!("{waits} for a person{since}"), WIDTH - TITLE),
        ),
        "recado conversations --waiting".to_owned(),
    ]
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
    let told = format!(
        "{}: {}",
        text_or_dash(alert, "kind"),
        text_or_dash(alert, "summary")
    );
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
    let average = trends
        .get("depth_average")
        .and_then(Value::as_f64)
        .unwrap_or_default();
    let mut lines = vec![format!(
        "{average:.1} messages waited on average, {} at most; {}",
        number_or_zero(trends, "depth_max"),
        count_things(number_or_zero(trends, "dead_letters_added"), "new dead letter")
    )];
    let down = list_items(trends, "instances")
        .iter()
        .filter(|one| number_or_zero(one, "disconnected_minutes") > 0);
    let down: Vec<String> = down
        .map(|one| {
            let minutes = count_things(number_or_zero(one, "disconnected_minutes"), "minute");
            format!("{} was not connected for {minutes}", text_or_dash(one, "id"))
        })
        .collect();
    let more = down.len().saturating_sub(LINES_MAX);
    lines.extend(
        down.into_iter()
            .take(LINES_MAX)
            .map(|line| cut_text(&line, WIDTH - TITLE)),
    );
    if more > 0 {
        lines.push(format!("and {more} more: recado trends"));
    }
    lines
}

fn format_waiting_age(seconds: u64) -> String {
    format_seconds(f64::from(u32::try_from(seconds).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests;
