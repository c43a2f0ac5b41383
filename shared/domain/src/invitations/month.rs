use super::write_invitation_id;
use crate::ids::InvitationId;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::fmt;
use std::str::FromStr;

/// A month in UTC, by which the log of deliveries is kept. It is written `2026-11`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogMonth {
    year: i16,
    month: i8,
}

/// A text is no month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a month is written such as 2026-11")]
pub struct LogMonthError;

impl LogMonth {
    /// Returns the month of an instant.
    pub fn of_instant(at: Timestamp) -> Self {
        let day = at.to_zoned(TimeZone::UTC);
        Self {
            year: day.year(),
            month: day.month(),
        }
    }

    /// Returns the least id of an invitation made in the month, and the least of one made after it.
    pub fn id_range(self) -> (InvitationId, InvitationId) {
        let first = date(self.year, self.month, 1);
        let behind = first.checked_add(1.month()).unwrap_or(Date::MAX);
        let least = |day: Date| {
            let begin = day.to_zoned(TimeZone::UTC).map(|begin| begin.timestamp());
            write_invitation_id(begin.unwrap_or(Timestamp::MAX), 0)
        };
        (least(first), least(behind))
    }
}

impl FromStr for LogMonth {
    type Err = LogMonthError;

    fn from_str(text: &str) -> Result<Self, LogMonthError> {
        let is_written = text.len() == 7 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let (year, month) = text.split_once('-').filter(|_| is_written).ok_or(LogMonthError)?;
        let year: i16 = year.parse().map_err(|_| LogMonthError)?;
        let month: i8 = month.parse().map_err(|_| LogMonthError)?;
        let is_month = (2000..9999).contains(&year) && (1..=12).contains(&month);
        is_month.then_some(Self { year, month }).ok_or(LogMonthError)
    }
}

impl fmt::Display for LogMonth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_read_as_it_is_written_and_nothing_else_is() {
        for text in ["2026-11", "2000-01", "9998-12"] {
            assert_eq!(text.parse::<LogMonth>().unwrap().to_string(), text);
        }
        for text in [
            "2026-13",
            "2026-00",
            "2026-1",
            "26-11",
            "2026/11",
            "2026-11-01",
            "",
            "-026-11",
        ] {
            assert!(text.parse::<LogMonth>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_ids_of_a_month_are_those_of_its_instants() {
        for (month, from, to) in [
            ("2026-12", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("2027-02", "2027-02-01T00:00:00Z", "2027-03-01T00:00:00Z"),
        ] {
            let month: LogMonth = month.parse().unwrap();
            let at = |text: &str| text.parse::<Timestamp>().unwrap();
            let (least, behind) = month.id_range();
            assert_eq!(least, write_invitation_id(at(from), 0));
            assert_eq!(behind, write_invitation_id(at(to), 0));
            let newest = write_invitation_id(at(to) - 1.millisecond(), u64::MAX);
            assert!(least < newest && newest < behind);
            assert_eq!(LogMonth::of_instant(at(from)), month);
            assert!(LogMonth::of_instant(at(to)) > month);
        }
    }
}
