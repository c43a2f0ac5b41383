//! Hours in which nothing is delivered.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

/// Hours of every day in which nothing is delivered. They run past midnight if they end before they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct QuietHours {
    /// Begin, `HH:MM`.
    #[cfg_attr(feature = "schema", schema(value_type = String, pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$", example = "21:00"))]
    #[serde(with = "minutes")]
    pub from: Time,
    /// End, `HH:MM`: from then on messages are delivered.
    #[cfg_attr(feature = "schema", schema(value_type = String, pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$", example = "08:00"))]
    #[serde(with = "minutes")]
    pub to: Time,
}

impl QuietHours {
    pub(super) fn is_in_valid_range(self) -> bool {
        self.from != self.to
    }

    fn is_quiet_time_of_day(self, time: Time) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&time)
        } else {
            time >= self.from || time < self.to
        }
    }

    /// Returns `true` if nothing is delivered at this time.
    pub fn is_quiet_at(self, at: Timestamp, zone: &TimeZone) -> bool {
        self.is_quiet_time_of_day(at.to_zoned(zone.clone()).time())
    }

    /// Returns the earliest time from `at` on that is not quiet. Where the clocks skip the end, it is the first time after it, and
    /// where they are put back over it, the next time that they show it.
    pub(super) fn find_end_of_quiet(self, at: Timestamp, zone: &TimeZone) -> Timestamp {
        let local = at.to_zoned(zone.clone()).datetime();
        if !self.is_in_valid_range() || !self.is_quiet_time_of_day(local.time()) {
            return at;
        }
        let ends_today = local.time() < self.to;
        let day = if ends_today {
            Some(local.date())
        } else {
            local.date().checked_add(1.day()).ok()
        };
        let end = day.map(|day| day.to_datetime(self.to));
        let first = end.and_then(|end| end.to_zoned(zone.clone()).ok());
        let second = end.and_then(|end| zone.to_ambiguous_zoned(end).later().ok());
        let ends = [first, second].into_iter().flatten().map(|end| end.timestamp());
        ends.filter(|end| *end > at).min().unwrap_or(at)
    }
}

/// Times of the day as `HH:MM`.
mod minutes {
    use jiff::civil::Time;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    pub(super) fn serialize<S: Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time.strftime("%H:%M").to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_form = text.len() == 5 && text.as_bytes()[2] == b':';
        let parsed = Time::strptime("%H:%M", &text).ok().filter(|_| is_form);
        parsed.ok_or_else(|| D::Error::custom("a time of the day is written HH:MM"))
    }
}
