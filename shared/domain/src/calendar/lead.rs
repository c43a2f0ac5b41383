//! Times before an appointment or an occasion, as ISO 8601 durations such as `P1D` or `PT2H`.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

/// Shortest and longest time before an appointment or an occasion.
const LEAD_MIN: SignedDuration = SignedDuration::from_mins(5);
const LEAD_MAX: SignedDuration = SignedDuration::from_hours(30 * 24);

fn read_lead(text: &str) -> Option<Span> {
    // Words such as `1 day` would be read, too.
    text.parse().ok().filter(|_| text.starts_with('P'))
}

/// Returns the length of a time before something, if it is within its limits.
pub(crate) fn measure_lead(text: &str) -> Option<SignedDuration> {
    let lead = read_lead(text)?;
    let is_known = lead.get_years() == 0 && lead.get_months() == 0 && lead.get_seconds() == 0;
    let length = lead.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    (is_known && (LEAD_MIN..=LEAD_MAX).contains(&length)).then_some(length)
}

/// Returns the instant that is this time before `start`. A day is one of the zone: the time on the clock stays the same where
/// clocks change.
pub(crate) fn subtract_lead(start: Timestamp, text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let start = start.to_zoned(zone.clone());
    Some(start.checked_sub(read_lead(text)?).ok()?.timestamp())
}
