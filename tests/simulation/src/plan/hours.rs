//! The opening hours that a number has from the start of a history on.

use crate::executor::{START_MS, Simulation};
use recado_domain::hours::OpeningHours;
use serde_json::json;

/// Most numbers have none. Some are closed for some minutes, once or twice, and open for good then: by an exception for the
/// day of the history. Most of these tell their contacts.
pub(super) fn opening_hours(simulation: &Simulation) -> Option<OpeningHours> {
    if !simulation.chance(0.2) {
        return None;
    }
    let begins = minute_of(START_MS);
    let first = begins + simulation.pick(&[1, 2, 4]);
    let second = first + simulation.pick(&[1, 3, 6]);
    let third = second + simulation.pick(&[1, 4, 30]);
    let spans = if simulation.chance(0.5) {
        json!([span(first, second), span(third, 24 * 60)])
    } else {
        json!([span(begins - 60, first), span(second, 24 * 60)])
    };
    let told = simulation.chance(0.7).then_some("we are closed");
    Some(hours(
        &spans,
        told,
        simulation.pick(&[None, Some(6), Some(30), Some(600)]),
    ))
}

/// Hours with these spans on the day of the history, and open on every other.
pub(crate) fn hours(
    spans: &serde_json::Value,
    closed_message: Option<&str>,
    replies_per_minute: Option<u32>,
) -> OpeningHours {
    let day = ["00:00-24:00"];
    let written = json!({
        "mon": day, "tue": day, "wed": day, "thu": day, "fri": day, "sat": day, "sun": day,
        "exceptions": [{"date": "2026-01-05", "hours": spans}],
        "time_zone": "UTC", "closed_message": closed_message, "replies_per_minute": replies_per_minute,
    });
    serde_json::from_value(written).expect("opening hours")
}

/// The minute of the day, in UTC, of a time in milliseconds.
pub(crate) fn minute_of(at_ms: i64) -> i64 {
    at_ms.rem_euclid(86_400_000) / 60_000
}

/// A span between two minutes of the day.
pub(crate) fn span(from: i64, to: i64) -> String {
    format!("{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
}
