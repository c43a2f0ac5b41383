//! Instants as people write and read them on the command line.

use anyhow::{Context, Result};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// Parses the value of an option: an instant, or a time ago such as `90m`.
pub(crate) fn parse_instant_option(text: &str) -> Result<Timestamp> {
    parse_instant(text, Timestamp::now())
}

/// Parses an instant, or a time before `now` such as `90m`.
fn parse_instant(text: &str, now: Timestamp) -> Result<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let unit = text.chars().last().map_or(0, |unit| match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => 0,
    });
    let count = text
        .get(..text.len().saturating_sub(1))
        .and_then(|digits| digits.parse::<u32>().ok());
    let ago = count
        .filter(|_| unit > 0)
        .map(|count| SignedDuration::from_secs(i64::from(count) * unit));
    let ago = ago.with_context(|| format!("{text} is no instant: 2026-03-01T08:00:00Z, 90m, 6h, 2d"))?;
    now.checked_sub(ago)
        .with_context(|| format!("{text} is too long ago"))
}

/// Formats an instant of an answer for people, in the time zone of this machine: `2026-03-01 08:00`. Another text stays
/// as it is.
pub(crate) fn format_local_time(text: &str) -> String {
    format_time_in(text, TimeZone::system())
}

/// Formats an instant of an answer as [`format_local_time`] does, without the year, which is in the JSON.
pub(crate) fn format_time_of_year(text: &str) -> String {
    format_local_time(text).chars().skip("2026-".len()).collect()
}

/// Waits until an instant that an answer names, for at most a minute.
pub(crate) async fn wait_until(at: Timestamp) {
    let wait = at.duration_since(Timestamp::now()).as_secs().clamp(1, 60);
    tokio::time::sleep(Duration::from_secs(wait.unsigned_abs())).await;
}

/// Formats an instant of an answer to the second, without the year: `03-01 08:00:00`. Another text stays as it is.
pub(crate) fn format_clock_time(text: &str) -> String {
    format_time_as("%m-%d %H:%M:%S", text, TimeZone::system())
}

fn format_time_in(text: &str, zone: TimeZone) -> String {
    format_time_as("%Y-%m-%d %H:%M", text, zone)
}

fn format_time_as(form: &str, text: &str, zone: TimeZone) -> String {
    match text.parse::<Timestamp>() {
        Ok(at) => at.to_zoned(zone).strftime(form).to_string(),
        Err(_) => text.to_owned(),
    }
}

/// Formats a length of time for people, in its two largest units: `4.1 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
pub(crate) fn format_seconds(seconds: f64) -> String {
    let whole = SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::ZERO);
    let (minutes, hours) = (whole.as_mins(), whole.as_hours());
    if minutes == 0 {
        let digits = usize::from(whole.as_secs() < 10);
        return format!("{seconds:.digits$} s");
    }
    if hours == 0 {
        return format!("{minutes} min {} s", whole.as_secs() % 60);
    }
    if hours < 24 {
        return format!("{hours} h {} min", minutes % 60);
    }
    format!("{} d {} h", hours / 24, hours % 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_written_out_or_told_by_how_long_ago_it_was() {
        let now: Timestamp = "2026-03-03T10:00:00Z".parse().unwrap();
        let read = |text: &str| parse_instant(text, now).map(|at| at.to_string());
        assert_eq!(read("2026-03-01T08:00:00Z").unwrap(), "2026-03-01T08:00:00Z");
        assert_eq!(read("90m").unwrap(), "2026-03-03T08:30:00Z");
        assert_eq!(read("2d").unwrap(), "2026-03-01T10:00:00Z");
        for wrong in ["", "h", "yesterday", "-3h", "9999999999999d", "3ü"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_is_shown_as_the_clock_here_shows_it() {
        let zone = TimeZone::fixed(jiff::tz::offset(-3));
        assert_eq!(
            format_time_in("2026-03-01T01:30:59.5Z", zone.clone()),
            "2026-02-28 22:30"
        );
        assert_eq!(
            format_time_as("%m-%d %H:%M:%S", "2026-03-01T01:30:59.5Z", zone.clone()),
            "02-28 22:30:59"
        );
        assert_eq!(format_time_in("-", zone), "-");
    }

    #[test]
    fn a_length_of_time_is_shown_in_two_units() {
        for (seconds, shown) in [
            (0.04, "0.0 s"),
            (4.12, "4.1 s"),
            (12.0, "12 s"),
            (200.0, "3 min 20 s"),
            (7_500.0, "2 h 5 min"),
            (273_600.0, "3 d 4 h"),
        ] {
            assert_eq!(format_seconds(seconds), shown);
        }
    }
}
