//! `recado trends`: shows what the last hours of a running installation were like, here or on AWS.

use crate::api_command::{ApiCommand, AskedArguments};
use crate::command_environment::CommandEnvironment;
use crate::dlq::tables::format_table;
use crate::instant::{format_local_time, format_time_of_year};
use crate::json_fields::{format_cell, is_field_true, list_items};
use crate::text_lines::cut_text;
use anyhow::Result;
use clap::Args;
use recado_machine::output::print_answer;
use serde_json::{Value, json};

/// Shows how the last hours of a running installation were, here or on AWS: what waited, dead letters, and the uptime of
/// each instance.
#[derive(Debug, Args)]
pub struct TrendArguments {
    /// Only of this tenant.
    #[arg(long)]
    tenant: Option<String>,
    /// Only of this instance.
    #[arg(long)]
    instance: Option<String>,
    /// Number of hours up to now.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=48))]
    hours: u32,
    /// Length of each part of this time, in minutes.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1440))]
    step_minutes: u32,
    #[command(flatten)]
    asked: AskedArguments,
}

/// The longest id of an instance in the table, in columns.
const ID_MAX: usize = 40;

/// Requests the trends and prints them.
pub(crate) async fn run_trends(arguments: TrendArguments, environment: &CommandEnvironment) -> Result<()> {
    let there = arguments.asked.there.build_client(environment)?;
    let command = ApiCommand::get(&["v1", "trends"])
        .query("hours", Some(arguments.hours))
        .query("step_minutes", Some(arguments.step_minutes))
        .query("tenant", arguments.tenant.as_ref())
        .query("instance", arguments.instance.as_ref());
    let answer = command.ask(&there).await?;
    let found = json!({ "items": list_items(&answer, "instances") });
    let filters = [
        ("tenants", arguments.tenant.as_deref()),
        ("instances", arguments.instance.as_deref()),
    ];
    there.check_filters(&found, &filters).await?;
    print_answer(&answer, arguments.asked.json, format_trends)
}

fn format_trends(answer: &Value) -> String {
    let of = |name: &str| format_cell(answer, name);
    if answer["minutes"] == 0 {
        return format!(
            "Nothing was sampled since {}.\nRecado takes a sample of each minute in which it runs.\n",
            format_local_time(&of("from"))
        );
    }
    let is_at_least = is_field_true(answer, "at_least");
    let at_least = if is_at_least { " or more" } else { "" };
    let summary = format!(
        "{} minutes sampled since {}\n\
         waiting: {} on average, {}{at_least} at most; parked: {} at most\n\
         dead letters: {} now, {} new ({} an hour)\n",
        of("minutes"),
        format_local_time(&of("from")),
        of("depth_average"),
        of("depth_max"),
        of("parked_max"),
        of("dead_letters"),
        of("dead_letters_added"),
        of("dead_letters_per_hour"),
    );
    let points = format_points(list_items(answer, "points"));
    let uptimes = format_uptimes(list_items(answer, "instances"));
    format!("{summary}\n{points}\n{uptimes}")
}

/// Formats the parts of the time, one in each row.
fn format_points(points: &[Value]) -> String {
    let columns = [
        ("from", "from"),
        ("min", "minutes"),
        ("waiting", "depth_average"),
        ("at most", "depth_max"),
        ("parked", "parked_max"),
        ("dead", "dead_letters"),
        ("new", "dead_letters_added"),
        ("off", "disconnected_max"),
    ];
    let cells = |point: &Value| {
        let cell = |(_, name): (&str, &str)| match name {
            "from" => format_time_of_year(&format_cell(point, name)),
            // A part without a sample has no numbers.
            _ if name != "minutes" && point["minutes"] == 0 => "-".to_owned(),
            _ => format_cell(point, name),
        };
        columns.map(cell).to_vec()
    };
    let headings = columns.map(|(heading, _)| heading);
    format_table(&headings, points.iter().map(cells).collect())
}

/// Formats the uptimes of the instances, the longest time without a connection first.
fn format_uptimes(instances: &[Value]) -> String {
    let uptime = |instance: &Value| {
        let percent = match format_cell(instance, "uptime_percent").as_str() {
            "-" => "-".to_owned(),
            percent => format!("{percent} %"),
        };
        vec![
            cut_text(&format_cell(instance, "id"), ID_MAX),
            percent,
            format_cell(instance, "disconnected_minutes"),
        ]
    };
    let mut uptimes: Vec<&Value> = instances.iter().collect();
    let down = |instance: &Value| instance.get("disconnected_minutes").and_then(Value::as_u64);
    uptimes.sort_by_key(|instance| std::cmp::Reverse(down(instance)));
    let headings = ["instance", "uptime", "minutes not connected"];
    format_table(&headings, uptimes.into_iter().map(uptime).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn trends_are_shown_with_the_worst_instances_first() {
        let point = |from: &str, minutes: u32| {
            json!({"from": from, "minutes": minutes, "depth_average": 1.5, "depth_max": 7, "parked_max": 0,
                "dead_letters": 4, "dead_letters_added": 1, "disconnected_max": 0})
        };
        let uptime = |id: &str, percent: Option<f64>, down: u32| json!({"id": id, "uptime_percent": percent, "disconnected_minutes": down});
        let answer = json!({
            "from": "2026-11-22T00:00:00Z", "minutes": 58, "depth_average": 1.5, "depth_max": 2000, "parked_max": 3,
            "at_least": true, "dead_letters": 4, "dead_letters_added": 1, "dead_letters_per_hour": 1.03,
            "points": [point("2026-11-22T00:00:00Z", 0), point("2026-11-22T01:00:00Z", 58)],
            "instances": [uptime("a", Some(100.0), 0), uptime("b", Some(98.27), 1), uptime("c", None, 0)],
        });
        let text = format_trends(&answer);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert!(
            lines[0].starts_with("58 minutes sampled since 2026-11-2"),
            "{text}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(
            lines[1],
            "waiting: 1.5 on average, 2000 or more at most; parked: 3 at most"
        );
        assert_eq!(lines[2], "dead letters: 4 now, 1 new (1.03 an hour)");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(lines[5])[2..], ["0", "-", "-", "-", "-", "-", "-"]);
        assert_eq!(words(lines[6])[2..], ["58", "1.5", "7", "0", "4", "1", "0"]);
        assert_eq!(words(lines[9]), ["b", "98.27", "%", "1"]);
        assert_eq!(words(lines[11]), ["c", "-", "0"]);
    }

    #[test]
    fn without_samples_it_is_said_so() {
        let text = format_trends(&json!({"from": "x", "minutes": 0}));
        assert!(
            text.starts_with("Nothing was sampled since x.\n") && text.lines().count() == 2,
            "{text}"
        );
    }
}
