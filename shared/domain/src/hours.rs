//! Opening hours: time spans for each weekday, in the tenant's time zone.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Opening hours by weekday, as configured: `{ mon = ["09:00-12:00", "13:00-18:00"], sat = ["22:00-02:00"] }`. A span
/// that ends at or before its start runs past midnight; `24:00` ends a day. A weekday that is not named is closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    try_from = "BTreeMap<String, Vec<String>>",
    into = "BTreeMap<String, Vec<String>>"
)]
pub struct OpeningHours {
    spans: BTreeMap<u8, Vec<OpeningSpan>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpeningSpan {
    from: MinuteOfDay,
    to: MinuteOfDay,
}

/// Minutes since midnight, 0 to 1440.
type MinuteOfDay = u16;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const DAY_MINUTES: MinuteOfDay = 24 * 60;

/// The reasons why opening hours are not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HoursError {
    /// The text is not a weekday.
    #[error("`{0}` is not a weekday: use mon, tue, wed, thu, fri, sat, sun")]
    Weekday(String),
    /// The text is not a span of time.
    #[error("`{0}` is not a span of opening hours: write it as 09:00-18:00")]
    Span(String),
    /// A weekday is named twice, in capitals and in small letters.
    #[error("`{0}` is named twice")]
    Repeated(&'static str),
    /// No weekday has a span.
    #[error("they name no hours, so nobody would ever be answered; leave them out for all hours")]
    Empty,
    /// Two spans have a time in common.
    #[error("{first} and {second} overlap")]
    Overlap {
        /// The span that begins first, with its weekday.
        first: String,
        /// The span that begins before the first ends, with its weekday.
        second: String,
    },
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

fn format_minute(at: MinuteOfDay) -> String {
    format!("{:02}:{:02}", at / 60, at % 60)
}

impl TryFrom<BTreeMap<String, Vec<String>>> for OpeningHours {
    type Error = HoursError;

    fn try_from(days: BTreeMap<String, Vec<String>>) -> Result<Self, HoursError> {
        let mut spans = BTreeMap::new();
        for (day, texts) in days {
            let name = day.to_lowercase();
            let index = DAYS
                .iter()
                .position(|d| *d == name)
                .ok_or(HoursError::Weekday(day))?;
            let mut list = Vec::new();
            for text in texts {
                let span = text.split_once('-').and_then(|(from, to)| {
                    let span = OpeningSpan {
                        from: parse_minute(from)?,
                        to: parse_minute(to)?,
                    };
                    (span.from < DAY_MINUTES && span.from != span.to).then_some(span)
                });
                list.push(span.ok_or(HoursError::Span(text))?);
            }
            if spans
                .insert(u8::try_from(index).unwrap_or_default(), list)
                .is_some()
            {
                return Err(HoursError::Repeated(DAYS[index]));
            }
        }
        Ok(Self { spans })
    }
}

impl From<OpeningHours> for BTreeMap<String, Vec<String>> {
    fn from(hours: OpeningHours) -> Self {
        let text = |span: &OpeningSpan| span.format();
        let day = |(index, spans): (u8, Vec<OpeningSpan>)| {
            (
                DAYS[usize::from(index) % 7].to_owned(),
                spans.iter().map(text).collect(),
            )
        };
        hours.spans.into_iter().map(day).collect()
    }
}

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
    /// Checks that there is a span, and that no two spans have a time in common. A span past midnight counts into the
    /// next day, from Sunday into Monday.
    pub fn check_spans(&self) -> Result<(), HoursError> {
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
            return Err(HoursError::Empty);
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

    /// Returns whether the hours are open at `now` in `zone`, or when they open next. A wall-clock time that a change
    /// of clocks skips counts as the instant after the gap. A wall-clock time that occurs twice counts as its first
    /// occurrence.
    pub fn opening_state_at(&self, now: Timestamp, zone: &TimeZone) -> OpeningState {
        let today = now.to_zoned(zone.clone()).date();
        let mut next: Option<Timestamp> = None;
        // Yesterday's spans may run past midnight. Eight days ahead cover every weekday again.
        for offset in -1..=8i64 {
            let Ok(date) = today.checked_add(offset.days()) else {
                continue;
            };
            for span in self.spans.get(&weekday_index(date)).into_iter().flatten() {
                let (from, to) = (
                    local_to_timestamp(date, span.from, zone),
                    local_to_timestamp(date, span.end_minute(), zone),
                );
                if from <= now && now < to {
                    return OpeningState::Open;
                }
                if from > now && next.is_none_or(|next| from < next) {
                    next = Some(from);
                }
            }
        }
        next.map_or(OpeningState::NeverOpens, OpeningState::OpensAt)
    }
}

impl OpeningSpan {
    fn format(self) -> String {
        format!("{}-{}", format_minute(self.from), format_minute(self.to))
    }

    /// Returns the end of the span, in minutes after the midnight that begins its day. The result is above 24 hours if
    /// the span runs past the next midnight.
    fn end_minute(self) -> MinuteOfDay {
        if self.to <= self.from {
            self.to + DAY_MINUTES
        } else {
            self.to
        }
    }
}

fn weekday_index(date: Date) -> u8 {
    u8::try_from(date.weekday().to_monday_zero_offset()).unwrap_or_default() % 7
}

fn local_to_timestamp(date: Date, minute: MinuteOfDay, zone: &TimeZone) -> Timestamp {
    let (days, minute) = (i64::from(minute / DAY_MINUTES), minute % DAY_MINUTES);
    let time = Time::new(
        i8::try_from(minute / 60).unwrap_or_default(),
        i8::try_from(minute % 60).unwrap_or_default(),
        0,
        0,
    );
    let date = date.checked_add(days.days()).unwrap_or(date);
    let wall = DateTime::from_parts(date, time.unwrap_or(Time::midnight()));
    zone.to_timestamp(wall).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hours(days: &[(&str, &[&str])]) -> OpeningHours {
        let map: BTreeMap<String, Vec<String>> = days
            .iter()
            .map(|(d, s)| ((*d).to_owned(), s.iter().map(|s| (*s).to_owned()).collect()))
            .collect();
        OpeningHours::try_from(map).unwrap()
    }

    fn check(hours: &OpeningHours, zone: &str, now: &str, expected: &str) {
        let zone = TimeZone::get(zone).unwrap();
        let got = match hours.opening_state_at(now.parse().unwrap(), &zone) {
            OpeningState::Open => "open".to_owned(),
            OpeningState::NeverOpens => "never".to_owned(),
            OpeningState::OpensAt(at) => at.to_string(),
        };
        assert_eq!(got, expected, "at {now}");
    }

    #[test]
    fn spans_that_overlap_and_hours_without_a_span_are_found() {
        let refused = |days: &[(&str, &[&str])]| hours(days).check_spans().unwrap_err().to_string();
        assert_eq!(
            refused(&[("mon", &["09:00-13:00", "12:59-18:00"])]),
            "mon 09:00-13:00 and mon 12:59-18:00 overlap"
        );
        assert_eq!(
            refused(&[("sat", &["22:00-02:00"]), ("sun", &["01:00-05:00"])]),
            "sat 22:00-02:00 and sun 01:00-05:00 overlap"
        );
        assert_eq!(
            refused(&[("sun", &["20:00-09:01"]), ("mon", &["09:00-18:00"])]),
            "sun 20:00-09:01 and mon 09:00-18:00 overlap"
        );
        assert_eq!(
            refused(&[("tue", &["09:00-18:00", "10:00-11:00"])]),
            "tue 09:00-18:00 and tue 10:00-11:00 overlap"
        );
        for none in [&[][..], &[("mon", &[][..])]] {
            assert!(refused(none).starts_with("they name no hours"));
        }
        let fine: [&[(&str, &[&str])]; 3] = [
            &[("mon", &["09:00-12:00", "12:00-18:00"]), ("tue", &[])],
            &[
                ("sun", &["22:00-09:00"]),
                ("mon", &["09:00-24:00"]),
                ("tue", &["00:00-01:00"]),
            ],
            &[("wed", &["00:00-24:00"])],
        ];
        for days in fine {
            hours(days).check_spans().unwrap();
        }
        let twice =
            BTreeMap::from([("mon", vec![]), ("Mon", vec![])].map(|(day, spans)| (day.to_owned(), spans)));
        assert_eq!(OpeningHours::try_from(twice), Err(HoursError::Repeated("mon")));
    }

    #[test]
    fn a_weekday_span_is_read_in_the_tenants_zone() {
        let office = hours(&[
            ("mon", &["09:00-12:00", "13:00-18:00"]),
            ("fri", &["09:00-18:00"]),
        ]);
        let zone = "America/Sao_Paulo"; // UTC-3
        check(&office, zone, "2026-11-23T11:59:59Z", "2026-11-23T12:00:00Z");
        check(&office, zone, "2026-11-23T12:00:00Z", "open");
        check(&office, zone, "2026-11-23T15:30:00Z", "2026-11-23T16:00:00Z");
        check(&office, zone, "2026-11-23T21:00:00Z", "2026-11-27T12:00:00Z");
        check(&office, zone, "2026-11-27T21:00:00Z", "2026-11-30T12:00:00Z");
    }

    #[test]
    fn a_span_past_midnight_belongs_to_the_day_it_begins() {
        let bar = hours(&[("sat", &["22:00-02:00"])]);
        check(&bar, "UTC", "2026-11-21T23:00:00Z", "open");
        check(&bar, "UTC", "2026-11-22T01:59:00Z", "open");
        check(&bar, "UTC", "2026-11-22T02:00:00Z", "2026-11-28T22:00:00Z");
    }

    #[test]
    fn a_skipped_opening_time_opens_after_the_gap() {
        // Clocks go from 02:00 to 03:00 on 2026-03-29 in Berlin.
        let early = hours(&[("sun", &["02:30-10:00"])]);
        check(
            &early,
            "Europe/Berlin",
            "2026-03-29T00:30:00Z",
            "2026-03-29T01:30:00Z",
        );
        check(&early, "Europe/Berlin", "2026-03-29T07:59:00Z", "open");
    }

    #[test]
    fn no_span_is_never_open_and_a_full_day_always() {
        check(&hours(&[]), "UTC", "2026-11-21T00:00:00Z", "never");
        check(
            &hours(&[("sat", &["00:00-24:00"])]),
            "UTC",
            "2026-11-21T23:59:59Z",
            "open",
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            "9-18",
            "09:00",
            "09:60-10:00",
            "25:00-26:00",
            "09:00-09:00",
            "24:00-25:00",
            "-",
            "a:b-c:d",
        ] {
            let map = BTreeMap::from([("mon".to_owned(), vec![bad.to_owned()])]);
            assert!(OpeningHours::try_from(map).is_err(), "{bad}");
        }
        assert!(OpeningHours::try_from(BTreeMap::from([("lunes".to_owned(), vec![])])).is_err());
    }

    proptest! {
        #[test]
        fn the_next_opening_is_open_and_nothing_before_it_is(
            from in 0u16..1440, length in 1u16..1440, day in 0usize..7, now in 1_700_000_000i64..1_900_000_000,
        ) {
            let span = format!("{}-{}", format_minute(from), format_minute((from + length) % 1440));
            prop_assume!(from != (from + length) % 1440);
            let hours = hours(&[(DAYS[day], &[&span])]);
            let zone = TimeZone::get("America/New_York").unwrap();
            let now = Timestamp::from_second(now).unwrap();
            if let OpeningState::OpensAt(at) = hours.opening_state_at(now, &zone) {
                prop_assert!(at > now);
                prop_assert_eq!(hours.opening_state_at(at, &zone), OpeningState::Open);
                let half = Timestamp::from_second(i64::midpoint(now.as_second(), at.as_second() - 1)).unwrap();
                prop_assert_ne!(hours.opening_state_at(half, &zone), OpeningState::Open);
            }
        }
    }
}
