//! Opening hours as people read them: day by day, by the clock on the wall.

use super::OpeningHours;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

/// The opening hours of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpeningDay {
    /// The day.
    pub date: Date,
    /// The spans that begin on it, such as `09:00-12:00`, as the clocks show them on this day. Empty: it is closed. The first
    /// day of a list has the rest of the day before, too: `00:00-02:00`.
    pub hours: Vec<String>,
    /// `true` if an exception says so, and not the weekday's hours.
    pub is_exception: bool,
}

/// Days with other hours than their weekdays'.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpeningException {
    /// The first day.
    pub from: Date,
    /// The last day.
    pub to: Date,
    /// The spans of each of the days, such as `09:00-12:00`. Empty: they are closed.
    pub hours: Vec<String>,
}

impl OpeningHours {
    /// Lists the hours of `count` days from `first` on.
    pub fn list_days(&self, first: Date, count: usize, zone: &TimeZone) -> Vec<OpeningDay> {
        let days = std::iter::successors(Some(first), |date| date.tomorrow().ok());
        days.take(count)
            .map(|date| {
                let mut spans = self.spans_of_date(date, zone);
                if date == first {
                    spans.extend(self.rest_of_day_before(date, zone));
                }
                spans.sort_unstable();
                OpeningDay {
                    date,
                    hours: spans
                        .into_iter()
                        .map(|span| format_span(date, span, zone))
                        .collect(),
                    is_exception: self.exceptions.iter().any(|other| other.covers_date(date)),
                }
            })
            .collect()
    }

    /// Returns the spans that began the day before `date` and end on it, cut at midnight.
    fn rest_of_day_before(&self, date: Date, zone: &TimeZone) -> Vec<(Timestamp, Timestamp)> {
        let (Ok(before), Ok(midnight)) = (date.yesterday(), date.to_zoned(zone.clone())) else {
            return Vec::new();
        };
        let midnight = midnight.timestamp();
        let spans = self.spans_of_date(before, zone).into_iter();
        spans
            .filter(|(_, to)| *to > midnight)
            .map(|(from, to)| (from.max(midnight), to))
            .collect()
    }

    /// Lists the next exceptions that end after `date`, at most `limit`.
    pub fn list_exceptions_after(&self, date: Date, limit: usize) -> Vec<OpeningException> {
        let later = self.exceptions.iter().filter(|exception| exception.to > date);
        later
            .take(limit)
            .map(|exception| OpeningException {
                from: exception.from,
                to: exception.to,
                hours: exception.spans.iter().map(|span| span.format()).collect(),
            })
            .collect()
    }
}

/// Formats a span that begins on `date`. Its midnight is `24:00`, as in the configuration.
fn format_span(date: Date, (from, to): (Timestamp, Timestamp), zone: &TimeZone) -> String {
    let (from, to) = (from.to_zoned(zone.clone()), to.to_zoned(zone.clone()));
    let is_midnight = to.time() == Time::midnight() && date.tomorrow().is_ok_and(|next| next == to.date());
    let to = if is_midnight {
        "24:00".to_owned()
    } else {
        to.strftime("%H:%M").to_string()
    };
    format!("{}-{to}", from.strftime("%H:%M"))
}
