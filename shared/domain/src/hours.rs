//! Opening hours: spans of time for each weekday and for exceptional days, in a time zone.

mod days;
mod document;
mod error;
mod exception;
mod intervals;
#[cfg(feature = "schema")]
mod schema;
mod span;

pub use days::{OpeningDay, OpeningException};
use document::HoursDocument;
pub use error::HoursError;
use exception::{EXCEPTIONS_MAX, HoursException};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use serde::{Deserialize, Serialize};
use span::{DAY_MINUTES, OpeningSpan};
use std::collections::BTreeMap;

/// Opening hours, as configured: `{ mon = ["09:00-12:00", "13:00-18:00"], sat = ["22:00-02:00"] }`. A span that ends at or
/// before its start runs past midnight; `24:00` ends a day. A weekday that is not named is closed. On the dates of an
/// exception, its hours count in place of the weekday's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "HoursDocument", into = "HoursDocument")]
pub struct OpeningHours {
    spans: BTreeMap<u8, Vec<OpeningSpan>>,
    /// The exceptions, sorted by their dates.
    exceptions: Vec<HoursException>,
    /// IANA time zone in which the hours are read; `None`: the tenant's.
    pub time_zone: Option<String>,
    /// The message that a contact gets once while the instance is closed. `None`: nothing is said.
    pub closed_message: Option<String>,
    /// Number of replies a minute that leave for what waited for an opening, 1 to 600. `None`:
    /// [`OpeningHours::REPLIES_PER_MINUTE`].
    pub replies_per_minute: Option<u32>,
}

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Number of days in a row that are searched for each weekday. The second week covers a day that a change of clocks leaves
/// nothing of.
const WEEKDAYS_SEEN: u32 = 15;

/// The result of a look at the opening hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpeningState {
    /// The instance is open now.
    Open,
    /// The instance is closed, and opens at this time.
    OpensAt(Timestamp),
    /// The instance never opens, because there is no span at all.
    NeverOpens,
}

impl OpeningHours {
    /// Number of replies a minute for what waited for an opening, if the hours name none.
    pub const REPLIES_PER_MINUTE: u32 = 60;

    /// Checks what the document says: spans that overlap, exceptions that overlap, and ranges.
    pub fn check_hours(&self) -> Result<(), HoursError> {
        self.check_spans()?;
        self.check_exceptions()?;
        if let Some(zone) = &self.time_zone
            && TimeZone::get(zone).is_err()
        {
            return Err(HoursError::TimeZone(zone.clone()));
        }
        if !(1..=600).contains(&self.replies_per_minute.unwrap_or(1)) {
            return Err(HoursError::Value("replies_per_minute must be between 1 and 600"));
        }
        let length = self
            .closed_message
            .as_ref()
            .map(|text| text.trim().chars().count());
        if length.is_some_and(|length| !(1..=1_000).contains(&length)) {
            return Err(HoursError::Value("closed_message must have 1 to 1000 characters"));
        }
        Ok(())
    }

    /// Checks that there is a span, and that no two spans of the week have a time in common. A span past midnight counts
    /// into the next day, from Sunday into Monday.
    fn check_spans(&self) -> Result<(), HoursError> {
        let mut week: Vec<(u32, u32, String)> = Vec::new();
        for (day, spans) in &self.spans {
            let (name, midnight) = (
                DAYS[usize::from(*day) % 7],
                u32::from(*day) * u32::from(DAY_MINUTES),
            );
            week.extend(spans.iter().map(|span| {
                let (from, to) = (u32::from(span.from), u32::from(span.end_minute()));
                (
                    midnight + from,
                    midnight + to,
                    format!("{name} {}", span.format()),
                )
            }));
        }
        week.sort_unstable();
        let Some(first) = week.first().cloned() else {
            let is_open = self.exceptions.iter().any(|day| !day.spans.is_empty());
            return is_open.then_some(()).ok_or(HoursError::Empty);
        };
        let week_minutes = 7 * u32::from(DAY_MINUTES);
        week.push((first.0 + week_minutes, first.1 + week_minutes, first.2));
        // Sorted by their begin, spans overlap only if one begins before its neighbour ends. A lone span is its own
        // neighbour a week later.
        match week.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            None => Ok(()),
            Some(pair) => Err(HoursError::Overlap {
                first: pair[0].2.clone(),
                second: pair[1].2.clone(),
            }),
        }
    }

    fn check_exceptions(&self) -> Result<(), HoursError> {
        if self.exceptions.len() > EXCEPTIONS_MAX {
            return Err(HoursError::Value("there are more than 366 exceptions"));
        }
        let mut pairs = self.exceptions.windows(2);
        match pairs.find(|pair| pair[1].from <= pair[0].to) {
            None => Ok(()),
            Some(pair) => Err(HoursError::ExceptionOverlap {
                first: pair[0].from.to_string(),
                second: pair[1].from.to_string(),
            }),
        }
    }

    /// Returns the zone in which the hours are read: their own, or else `tenants`.
    pub fn resolve_time_zone(&self, tenants: TimeZone) -> TimeZone {
        let own = self.time_zone.as_deref();
        own.and_then(|name| TimeZone::get(name).ok()).unwrap_or(tenants)
    }

    /// Returns the time between two replies for what waited for an opening.
    pub fn reply_interval(&self) -> SignedDuration {
        let per_minute = self.replies_per_minute.unwrap_or(Self::REPLIES_PER_MINUTE);
        SignedDuration::from_millis(60_000 / i64::from(per_minute.clamp(1, 600)))
    }

    /// Returns whether the hours are open at `now` in `zone`, or when they open next. A wall-clock time that a change
    /// of clocks skips counts as an instant after the gap. A wall-clock time that occurs twice counts as its first
    /// occurrence. A span past midnight belongs to the day it begins, also if an exception is about the next day.
    pub fn opening_state_at(&self, now: Timestamp, zone: &TimeZone) -> OpeningState {
        let today = now.to_zoned(zone.clone()).date();
        // Yesterday's spans may run past midnight.
        let mut date = today.checked_sub(1.days()).unwrap_or(today);
        let mut weekdays_in_row = 0;
        loop {
            let exception = self
                .exceptions
                .iter()
                .find(|exception| exception.covers_date(date));
            let spans = match exception {
                Some(exception) if exception.spans.is_empty() => {
                    let Some(after) = exception.first_date_after() else {
                        return OpeningState::NeverOpens;
                    };
                    (date, weekdays_in_row) = (after, 0);
                    continue;
                }
                Some(exception) => {
                    weekdays_in_row = 0;
                    exception.spans.as_slice()
                }
                None => {
                    weekdays_in_row += 1;
                    self.spans
                        .get(&weekday_index(date))
                        .map_or(&[][..], Vec::as_slice)
                }
            };
            let on_date = spans.iter().filter_map(|span| span.times_on_date(date, zone));
            let mut next: Option<Timestamp> = None;
            for (from, to) in on_date {
                if from <= now && now < to {
                    return OpeningState::Open;
                }
                if from > now && next.is_none_or(|next| from < next) {
                    next = Some(from);
                }
            }
            if let Some(next) = next {
                return OpeningState::OpensAt(next);
            }
            let following = match self.exceptions.iter().find(|later| later.from > date) {
                Some(later) if weekdays_in_row >= WEEKDAYS_SEEN => Ok(later.from),
                None if weekdays_in_row >= WEEKDAYS_SEEN => return OpeningState::NeverOpens,
                _ => date.checked_add(1.days()),
            };
            let Ok(following) = following else {
                return OpeningState::NeverOpens;
            };
            date = following;
        }
    }

    /// Returns `true` if the hours were or are open at some time after `since`, up to `now`.
    pub fn opened_between(&self, since: Timestamp, now: Timestamp, zone: &TimeZone) -> bool {
        match self.opening_state_at(since, zone) {
            OpeningState::Open => true,
            OpeningState::OpensAt(at) => at <= now,
            OpeningState::NeverOpens => false,
        }
    }
}

fn weekday_index(date: Date) -> u8 {
    u8::try_from(date.weekday().to_monday_zero_offset()).unwrap_or_default() % 7
}

#[cfg(test)]
mod tests;
