//! Detects a silent instance: one that says it is open, although its session may be dead.

use crate::millis::{self, add_duration, to_millis};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Number of days after a message for which its hour of the day counts as usual.
const USUAL_DAYS: u8 = 7;

/// Number of gaps that must be known before a silence means anything.
const GAPS_MIN: u32 = 20;

/// Shortest silence that is reported, counted in usual hours: 30 minutes.
const SILENCE_MIN: SignedDuration = SignedDuration::from_mins(30);
/// A silence is also at least this number of times as long as the usual gap.
const SILENCE_GAPS: i32 = 10;

/// Divisor for the newest gap's share in the mean: one tenth.
const GAP_WEIGHT: i64 = 10;

/// Longest silence that is measured: 14 days.
const MEASURED_MAX: SignedDuration = SignedDuration::from_hours(14 * 24);

/// The usual traffic of an instance: the mean of the gaps between looks that found a new message, and the hours in
/// which contacts write. Hours are hours of UTC; no time zone is needed, because the usual hours are learnt in UTC too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrafficProfile {
    /// Time at which the newest message came in.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// Weighted mean of the gaps, counted in usual hours, in whole milliseconds.
    #[serde(rename = "gap_ms", default, with = "millis::duration")]
    pub gap: SignedDuration,
    /// Number of gaps in the mean.
    pub gaps: u32,
    /// For each hour of the day (UTC): the number of days for which it still counts as usual.
    pub hours: [u8; 24],
    /// The day, counted from 1970, at which `hours` was last counted down.
    pub day: i64,
    /// Time since which the instance is silent, if a silence was found.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Timestamp>,
}

/// Returns the number of whole hours since 1970, in UTC.
fn count_hours(at: Timestamp) -> i64 {
    at.duration_since(Timestamp::UNIX_EPOCH).as_hours()
}

/// Returns the hour of the day in UTC, 0 to 23.
fn hour_of_day(at: Timestamp) -> usize {
    usize::try_from(count_hours(at).rem_euclid(24)).unwrap_or_default()
}

impl TrafficProfile {
    /// Records that the newest message came at `newest`. A time that is not later than the last one changes nothing.
    pub fn record_message_time(&mut self, newest: Timestamp) {
        if self.last.is_some_and(|last| newest <= last) {
            return;
        }
        let day = count_hours(newest).div_euclid(24);
        let passed = u8::try_from(day.saturating_sub(self.day).max(0)).unwrap_or(u8::MAX);
        for left in &mut self.hours {
            *left = left.saturating_sub(passed);
        }
        self.day = self.day.max(day);
        if let Some(usual) = self.hours.get_mut(hour_of_day(newest)) {
            *usual = USUAL_DAYS;
        }
        if let Some(last) = self.last {
            let gap = self.usual_time_between(last, newest);
            self.gap = if self.gaps == 0 {
                gap
            } else {
                self.gap + SignedDuration::from_millis(to_millis(gap - self.gap) / GAP_WEIGHT)
            };
            self.gaps = self.gaps.saturating_add(1);
        }
        self.last = Some(newest);
        self.silent_since = None;
    }

    /// Detects a silence at `now` of an instance that has been open since `open_since` (`None`: not known). Returns
    /// `true` if a silence has just been found.
    pub fn detect_inactivity(&mut self, open_since: Option<Timestamp>, now: Timestamp) -> bool {
        let Some(last) = self.last.filter(|_| self.gaps >= GAPS_MIN) else {
            return false;
        };
        let usual = self.is_usual_hour(now);
        if self.silent_since.is_some() || !usual {
            return false;
        }
        let from = open_since.map_or(last, |since| since.max(last));
        let limit = self.gap.saturating_mul(SILENCE_GAPS).max(SILENCE_MIN);
        if self.usual_time_between(from, now) <= limit {
            return false;
        }
        self.silent_since = Some(last);
        true
    }

    fn is_usual_hour(&self, at: Timestamp) -> bool {
        self.hours.get(hour_of_day(at)).is_some_and(|days| *days > 0)
    }

    /// Returns the part of the time between two instants that lies in usual hours.
    fn usual_time_between(&self, from: Timestamp, to: Timestamp) -> SignedDuration {
        let mut at = from.max(add_duration(to, -MEASURED_MAX));
        let mut usual = SignedDuration::ZERO;
        while at < to {
            let hours = SignedDuration::from_hours(count_hours(at) + 1);
            let next = add_duration(Timestamp::UNIX_EPOCH, hours).min(to);
            if self.is_usual_hour(at) {
                usual += next.duration_since(at);
            }
            at = next;
        }
        usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    const MINUTE: i64 = 60_000;
    const HOUR_MS: i64 = 60 * MINUTE;
    const DAY_MS: i64 = 24 * HOUR_MS;

    /// A week of messages from 9 to 17 o'clock, `every` so many minutes.
    fn week(every: i64) -> TrafficProfile {
        let mut pattern = TrafficProfile::default();
        for day in 0..7 {
            for minute in (0..8 * 60).step_by(usize::try_from(every).unwrap()) {
                pattern.record_message_time(from_unix_millis(day * DAY_MS + 9 * HOUR_MS + minute * MINUTE));
            }
        }
        pattern
    }

    fn at(day: i64, minute: i64) -> Timestamp {
        from_unix_millis(day * DAY_MS + minute * MINUTE)
    }

    #[test]
    fn a_busy_instance_is_silent_after_ten_usual_gaps() {
        let mut pattern = week(10);
        let last = pattern.last.unwrap();
        assert_eq!(last, at(6, 16 * 60 + 50));
        assert!(
            (9 * MINUTE..12 * MINUTE).contains(&to_millis(pattern.gap)),
            "{:?}",
            pattern.gap
        );
        // Ten minutes of usual time were left that day.
        assert!(!pattern.clone().detect_inactivity(None, at(7, 9 * 60 + 80)));
        assert!(pattern.detect_inactivity(None, at(7, 9 * 60 + 110)));
        assert_eq!(pattern.silent_since, Some(last));
        assert!(
            !pattern.detect_inactivity(None, at(7, 9 * 60 + 180)),
            "it is found once"
        );
        pattern.record_message_time(at(7, 9 * 60 + 181));
        assert_eq!(pattern.silent_since, None);
    }

    #[test]
    fn nights_are_no_silence() {
        let mut pattern = week(10);
        for minute in [17 * 60, 20 * 60, 23 * 60 + 59] {
            assert!(!pattern.detect_inactivity(None, at(6, minute)));
        }
        assert!(
            !pattern.detect_inactivity(None, at(7, 9 * 60 + 1)),
            "nor the first minute of the next day"
        );
        assert!(
            !pattern.detect_inactivity(None, at(9, 3 * 60)),
            "nor is it found at night"
        );
    }

    #[test]
    fn half_an_hour_at_least_must_pass() {
        let mut pattern = week(1);
        assert!(pattern.gap < SignedDuration::from_mins(3));
        let last = pattern.last.unwrap();
        assert_eq!(last, at(6, 16 * 60 + 59));
        assert!(!pattern.clone().detect_inactivity(None, at(7, 9 * 60 + 28)));
        assert!(pattern.detect_inactivity(None, at(7, 9 * 60 + 30)));
    }

    #[test]
    fn a_silence_is_counted_from_when_the_instance_opened() {
        let mut pattern = week(1);
        let opened = at(7, 12 * 60);
        assert!(
            !pattern
                .clone()
                .detect_inactivity(Some(opened), at(7, 12 * 60 + 30))
        );
        assert!(pattern.detect_inactivity(Some(opened), at(7, 12 * 60 + 31)));
    }

    #[test]
    fn of_an_instance_that_is_hardly_known_nothing_is_said() {
        let mut pattern = TrafficProfile::default();
        for minute in 0..=i64::from(GAPS_MIN) {
            assert!(
                !pattern
                    .clone()
                    .detect_inactivity(None, from_unix_millis(30 * DAY_MS))
            );
            pattern.record_message_time(from_unix_millis(minute * MINUTE));
        }
        assert!(
            pattern.detect_inactivity(None, from_unix_millis(30 * DAY_MS)),
            "now it is known"
        );
    }

    #[test]
    fn an_hour_without_messages_for_a_week_is_no_longer_usual() {
        let mut pattern = week(10);
        for day in 7..15 {
            pattern.record_message_time(at(day, 10 * 60));
        }
        assert!(pattern.is_usual_hour(at(15, 10 * 60 + 5)));
        assert!(!pattern.is_usual_hour(at(15, 9 * 60 + 5)));
    }
}
