//! Exceptions from the weekly hours: holidays and exceptional days.

use super::HoursError;
use super::span::OpeningSpan;
use jiff::ToSpan;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Largest number of exceptions.
pub(super) const EXCEPTIONS_MAX: usize = 366;

/// Largest number of days of one exception.
const DAYS_MAX: i32 = 366;

/// Dates on which other hours count than on their weekdays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HoursException {
    pub(super) from: Date,
    /// The last date.
    pub(super) to: Date,
    /// The hours of each of the dates; none if they are closed.
    pub(super) spans: Vec<OpeningSpan>,
}

/// A date, or the dates `from` to `to`: closed, or with hours of their own.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = HoursException))]
#[serde(deny_unknown_fields)]
pub(super) struct ExceptionDocument {
    #[cfg_attr(feature = "schema", schema(example = "2026-12-25"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// The last date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    closed: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hours: Vec<String>,
}

impl HoursException {
    /// Returns `true` if the exception is about `date`.
    pub(super) fn covers_date(&self, date: Date) -> bool {
        (self.from..=self.to).contains(&date)
    }

    /// Parses the exception at `position` of the list, from 1.
    pub(super) fn parse_exception(written: &ExceptionDocument, position: usize) -> Result<Self, HoursError> {
        let refuse = |why| HoursError::Exception { position, why };
        let (from, to) = match (&written.date, &written.from, &written.to) {
            (Some(date), None, None) => (date, date),
            (None, Some(from), Some(to)) => (from, to),
            _ => return Err(refuse("it needs either `date`, or `from` and `to`")),
        };
        let read = |text: &str| parse_date(text).ok_or_else(|| refuse("a date is written as 2026-12-25"));
        let (from, to) = (read(from)?, read(to)?);
        if to < from {
            return Err(refuse("`to` lies before `from`"));
        }
        if (to - from).get_days() >= DAYS_MAX {
            return Err(refuse("it is about more than 366 days"));
        }
        if written.closed != written.hours.is_empty() {
            return Err(refuse("it needs either `closed = true` or `hours`"));
        }
        let spans = written.hours.iter().map(|text| OpeningSpan::parse_span(text));
        let mut spans = spans.collect::<Result<Vec<_>, _>>()?;
        spans.sort_unstable();
        if spans.windows(2).any(|pair| pair[1].from < pair[0].end_minute()) {
            return Err(refuse("its hours overlap"));
        }
        Ok(Self { from, to, spans })
    }

    /// Returns the exception as it is written.
    pub(super) fn to_exception_document(&self) -> ExceptionDocument {
        let (from, to) = (self.from.to_string(), self.to.to_string());
        let is_day = from == to;
        ExceptionDocument {
            date: is_day.then(|| from.clone()),
            from: (!is_day).then_some(from),
            to: (!is_day).then_some(to),
            closed: self.spans.is_empty(),
            hours: self.spans.iter().map(|span| span.format()).collect(),
        }
    }

    /// Returns the date after the last one. `None`: there is no later date.
    pub(super) fn first_date_after(&self) -> Option<Date> {
        self.to.checked_add(1.days()).ok()
    }
}

fn parse_date(text: &str) -> Option<Date> {
    let is_plain = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    text.parse().ok().filter(|_| is_plain)
}
