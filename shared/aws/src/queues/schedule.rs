//! The time and the name of a schedule.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recado_domain::ids::hash_parts;
use recado_domain::millis::from_unix_millis;

const MINUTE_MS: i64 = 60_000;

/// Returns the minute at which a schedule for `at` fires: not before `at`, and at least a minute from now. A time in
/// the past is refused, and a minute that is just passing may never fire.
pub(crate) fn schedule_minute(at: Timestamp, now: Timestamp) -> Timestamp {
    let earliest = at
        .as_millisecond()
        .max(now.as_millisecond().saturating_add(MINUTE_MS));
    let whole = earliest.div_euclid(MINUTE_MS) + i64::from(earliest.rem_euclid(MINUTE_MS) > 0);
    from_unix_millis(whole.saturating_mul(MINUTE_MS))
}

/// Returns the schedule expression, in UTC.
pub(crate) fn schedule_expression(minute: Timestamp) -> String {
    format!(
        "at({})",
        minute.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S")
    )
}

/// Returns the schedule's name: one per key and minute, of at most 64 letters, digits and `-_.`.
pub(crate) fn schedule_name(key: &str, minute: Timestamp) -> String {
    let hash = hash_parts(&["schedule", key], 16);
    format!("t-{hash}-{}", minute.as_millisecond().div_euclid(MINUTE_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_schedule_is_rounded_up_to_its_minute_and_lies_a_minute_ahead_at_least() {
        let now = at("2026-03-01T11:58:30Z");
        assert_eq!(
            schedule_minute(at("2026-03-01T12:00:00Z"), now),
            at("2026-03-01T12:00:00Z")
        );
        assert_eq!(
            schedule_minute(at("2026-03-01T12:00:00.001Z"), now),
            at("2026-03-01T12:01:00Z")
        );
        assert_eq!(
            schedule_minute(at("2026-03-01T11:59:00Z"), now),
            at("2026-03-01T12:00:00Z")
        );
        assert_eq!(
            schedule_minute(at("2020-01-01T00:00:00Z"), now),
            at("2026-03-01T12:00:00Z")
        );
    }

    #[test]
    fn a_name_is_known() {
        let key = "turn#c_0123456789abcdef0123456789abcdef-1";
        let name = schedule_name(key, at("2026-03-01T12:00:00Z"));
        assert_eq!(name, "t-6e69ed7467590664bf292991d0ce2c69-29539440");
    }

    #[test]
    fn the_expression_is_read_in_utc() {
        assert_eq!(
            schedule_expression(at("2026-03-01T12:05:00Z")),
            "at(2026-03-01T12:05:00)"
        );
    }

    #[test]
    fn a_name_is_one_per_key_and_minute_and_short_enough() {
        let (noon, later) = (at("2026-03-01T12:00:00Z"), at("2026-03-01T12:01:00Z"));
        let first = schedule_name("turn#c_1", noon);
        assert_eq!(first, schedule_name("turn#c_1", noon));
        assert_ne!(first, schedule_name("turn#c_1", later));
        assert_ne!(first, schedule_name("agent_return#c_1", noon));
        let longest = schedule_name(&"x".repeat(300), at("9999-12-01T00:00:00Z"));
        assert!(
            longest.len() <= 64
                && longest
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        );
    }
}
