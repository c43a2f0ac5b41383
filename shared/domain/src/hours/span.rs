//! Spans of opening hours within a day.

use super::HoursError;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// Minutes since midnight, 0 to 1440.
pub(super) type MinuteOfDay = u16;

pub(super) const DAY_MINUTES: MinuteOfDay = 24 * 60;

/// A span of time that begins on a day, and may end on the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OpeningSpan {
    pub(super) from: MinuteOfDay,
    pub(super) to: MinuteOfDay,
}

impl OpeningSpan {
    /// Parses a span such as `09:00-18:00`.
    pub(super) fn parse_span(text: &str) -> Result<Self, HoursError> {
        let span = text.split_once('-').and_then(|(from, to)| {
            let span = Self {
                from: parse_minute(from)?,
                to: parse_minute(to)?,
            };
            (span.from < DAY_MINUTES && span.from != span.to).then_some(span)
        });
        span.ok_or_else(|| HoursError::Span(text.to_owned()))
    }

    pub(super) fn format(self) -> String {
        format!("{}-{}", format_minute(self.from), format_minute(self.to))
    }

    /// Returns the end of the span, in minutes after the midnight that begins its day. The result is above 24 hours if
    /// the span runs past the next midnight.
    pub(super) fn end_minute(self) -> MinuteOfDay {
        if self.to <= self.from {
            self.to + DAY_MINUTES
        } else {
            self.to
        }
    }

    /// Returns when the span of `date` begins and ends in `zone`. `None`: a change of clocks leaves nothing of it.
    pub(super) fn times_on_date(self, date: Date, zone: &TimeZone) -> Option<(Timestamp, Timestamp)> {
        let from = local_to_timestamp(date, self.from, zone);
        let to = local_to_timestamp(date, self.end_minute(), zone);
        (from < to).then_some((from, to))
    }
}

fn parse_minute(text: &str) -> Option<MinuteOfDay> {
    let (hour, minute) = text.trim().split_once(':')?;
    if hour.is_empty() || hour.len() > 2 || minute.len() != 2 {
        return None;
    }
    let (hour, minute) = (
        hour.parse::<MinuteOfDay>().ok()?,
        minute.parse::<MinuteOfDay>().ok()?,
    );
    let at = hour * 60 + minute;
    (hour <= 24 && minute < 60 && at <= DAY_MINUTES).then_some(at)
}

pub(super) fn format_minute(at: MinuteOfDay) -> String {
    format!("{:02}:{:02}", at / 60, at % 60)
}

/// Returns the instant of a wall-clock time. A time that a change of clocks skips counts as the instant as much later as
/// the clocks were put forward. A time that occurs twice counts as its first occurrence.
fn local_to_timestamp(date: Date, minute: MinuteOfDay, zone: &TimeZone) -> Timestamp {
    let (days, minute) = (i64::from(minute / DAY_MINUTES), minute % DAY_MINUTES);
    let time = Time::new(
        i8::try_from(minute / 60).unwrap_or_default(),
        i8::try_from(minute % 60).unwrap_or_default(),
        0,
        0,
    );
    let date = date.checked_add(days.days()).unwrap_or(date);
    let wall = DateTime::from_parts(date, time.unwrap_or_default());
    zone.to_timestamp(wall).unwrap_or(Timestamp::MAX)
}
