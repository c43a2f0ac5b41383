//! Times as a model reads them, and the lines of a conversation that tell when a message was written.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

/// The time between two messages above which the second one's time is told.
const GAP_MIN: SignedDuration = SignedDuration::from_hours(1);

/// The format of the time of a message.
const MESSAGE_TIME: &str = "[%a %-d %b %Y, %H:%M]";

/// The weekdays, as the time of a message begins with them.
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Describes a day: `Monday, 30 November 2026`.
pub fn describe_date(date: Date) -> String {
    date.strftime("%A, %-d %B %Y").to_string()
}

/// Describes a time for a model: `Monday, 30 November 2026, 14:05 (America/Sao_Paulo, UTC-03:00)`.
pub fn describe_time(at: &Zoned) -> String {
    let zone = at.time_zone().iana_name().map(|name| format!("{name}, "));
    let zone = zone.unwrap_or_default();
    let (time, offset) = (at.strftime("%A, %-d %B %Y, %H:%M"), at.strftime("%:z"));
    format!("{time} ({zone}UTC{offset})")
}

/// Returns the line that tells when a message was written: `[Mon 30 Nov 2026, 14:05]`. `None`: it was written within an hour of the one
/// before it (`before`), on the same day.
pub fn describe_message_time(at: Timestamp, before: Timestamp, zone: &TimeZone) -> Option<String> {
    let (at, before) = (at.to_zoned(zone.clone()), before.to_zoned(zone.clone()));
    let apart = at.timestamp().duration_since(before.timestamp()).abs();
    let is_told = apart > GAP_MIN || at.date() != before.date();
    is_told.then(|| at.strftime(MESSAGE_TIME).to_string())
}

/// Returns `true` if a line of a conversation is the time of a message.
pub fn is_message_time(line: &str) -> bool {
    let inner = line
        .trim()
        .strip_prefix('[')
        .and_then(|line| line.strip_suffix(']'));
    inner.is_some_and(|inner| begins_as_message_time(&spell_without_gaps(inner)) && inner.contains(':'))
}

/// Returns `true` if these small letters and digits, which follow a `[`, begin as the time of a message does: a weekday and a number.
pub(crate) fn begins_as_message_time(spelled: &str) -> bool {
    WEEKDAYS.iter().any(|day| {
        let number = spelled.strip_prefix(day).and_then(|rest| rest.chars().next());
        number.is_some_and(char::is_numeric)
    })
}

fn spell_without_gaps(text: &str) -> String {
    let spelled = text.chars().filter(|character| character.is_alphanumeric());
    spelled.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_time_is_told_with_its_weekday_its_zone_and_its_distance_from_utc() {
        let zone = TimeZone::get("America/Sao_Paulo").unwrap();
        let told = describe_time(&at("2027-03-01T17:05:00Z").to_zoned(zone));
        assert_eq!(told, "Monday, 1 March 2027, 14:05 (America/Sao_Paulo, UTC-03:00)");
        let told = describe_time(&at("2027-03-01T17:05:00Z").to_zoned(TimeZone::UTC));
        assert_eq!(told, "Monday, 1 March 2027, 17:05 (UTC, UTC+00:00)");
    }

    #[test]
    fn the_time_of_a_message_is_told_after_more_than_an_hour_and_on_another_day() {
        let zone = TimeZone::get("America/Sao_Paulo").unwrap();
        let told = |before: &str, message: &str| describe_message_time(at(message), at(before), &zone);
        let (noon, hour_later) = ("2027-03-01T15:00:00Z", "2027-03-01T16:00:00Z");
        assert_eq!(told(noon, hour_later), None);
        let line = told(noon, "2027-03-01T16:00:01Z").unwrap();
        assert_eq!(line, "[Mon 1 Mar 2027, 13:00]");
        assert_eq!(
            told("2027-03-02T02:58:00Z", "2027-03-02T03:02:00Z").as_deref(),
            Some("[Tue 2 Mar 2027, 00:02]"),
            "midnight in the zone"
        );
        assert!(
            told("2027-03-01T23:59:00Z", "2027-03-02T00:01:00Z").is_none(),
            "midnight elsewhere"
        );
        assert!(
            told(hour_later, "2027-03-01T14:59:59Z").is_some(),
            "a clock that runs behind"
        );
        assert!(is_message_time(&line) && is_message_time(&format!(" {line} ")));
        for other in [
            "[person]",
            "[Mon]",
            "Mon 1 Mar 2027, 13:00",
            "[money: 3]",
            "[Mon 1 Mar]",
        ] {
            assert!(!is_message_time(other), "{other}");
        }
    }
}
