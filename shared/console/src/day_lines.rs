//! Days as people write them in forms: exceptional days of opening hours, and the days between which something was.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

/// Reads exceptional days, one for each line: `2026-12-25: closed`, or `2026-12-24..2026-12-26: 09:00-12:00, 13:00-15:00`.
/// Returns `None` if a line is neither.
pub(crate) fn parse_day_lines(text: &str) -> Option<Value> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(parse_day_line).collect()
}

fn parse_day_line(line: &str) -> Option<Value> {
    let (days, hours) = line.split_once(':')?;
    let mut day = Map::new();
    match days.split_once("..") {
        Some((from, to)) => {
            day.insert("from".to_owned(), json!(from.trim()));
            day.insert("to".to_owned(), json!(to.trim()));
        }
        None => {
            day.insert("date".to_owned(), json!(days.trim()));
        }
    }
    let spans = hours.split(',').map(str::trim).filter(|span| !span.is_empty());
    let spans: Vec<&str> = spans.collect();
    match spans.as_slice() {
        [] => return None,
        ["closed"] => day.insert("closed".to_owned(), json!(true)),
        spans => day.insert("hours".to_owned(), json!(spans)),
    };
    Some(Value::Object(day))
}

/// Writes exceptional days as [`parse_day_lines`] reads them.
pub(crate) fn format_day_lines(days: &Value) -> String {
    let days = days.as_array().into_iter().flatten();
    let lines = days.map(|day| {
        let text = |name: &str| day[name].as_str().unwrap_or_default().to_owned();
        let when = if day["date"].is_string() {
            text("date")
        } else {
            format!("{}..{}", text("from"), text("to"))
        };
        let spans = day["hours"].as_array().into_iter().flatten();
        let spans: Vec<&str> = spans.filter_map(Value::as_str).collect();
        let hours = if spans.is_empty() {
            "closed".to_owned()
        } else {
            spans.join(", ")
        };
        format!("{when}: {hours}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the time at which a day begins, in UTC. `None`: the text is no day.
pub(crate) fn read_day_begin(day: &str) -> Option<String> {
    format_midnight(day.trim().parse().ok()?)
}

/// Returns the time at which a day ends, in UTC. `None`: the text is no day.
pub(crate) fn read_day_end(day: &str) -> Option<String> {
    format_midnight(day.trim().parse::<Date>().ok()?.tomorrow().ok()?)
}

/// Returns a time of day in UTC, such as `2026-11-27T10:00`, as an instant. `None`: the text is none.
pub(crate) fn read_utc_time(time: &str) -> Option<String> {
    let zoned = time
        .trim()
        .parse::<DateTime>()
        .ok()?
        .to_zoned(TimeZone::UTC)
        .ok()?;
    Some(zoned.timestamp().to_string())
}

fn format_midnight(day: Date) -> Option<String> {
    let midnight = day.to_zoned(TimeZone::UTC).ok()?;
    Some(midnight.timestamp().to_string())
}
