//! Opening hours as instants: when they are open within a time.

use super::{OpeningHours, weekday_index};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

impl OpeningHours {
    /// Returns when the hours are open between two instants, in order. Spans that touch each other are one, and both ends are
    /// cut to the two instants. Each date between them is looked at, so the caller limits their distance.
    pub fn open_intervals(
        &self,
        from: Timestamp,
        to: Timestamp,
        zone: &TimeZone,
    ) -> Vec<(Timestamp, Timestamp)> {
        if from >= to {
            return Vec::new();
        }
        let (first, last) = (
            from.to_zoned(zone.clone()).date(),
            to.to_zoned(zone.clone()).date(),
        );
        // Yesterday's spans may run past midnight.
        let first = first.checked_sub(1.days()).unwrap_or(first);
        let dates = std::iter::successors(Some(first), |date| date.checked_add(1.days()).ok());
        let mut spans: Vec<(Timestamp, Timestamp)> = dates
            .take_while(|date| *date <= last)
            .flat_map(|date| self.spans_of_date(date, zone))
            .map(|(begin, end)| (begin.max(from), end.min(to)))
            .filter(|(begin, end)| begin < end)
            .collect();
        spans.sort_unstable();
        let mut joined: Vec<(Timestamp, Timestamp)> = Vec::new();
        for (begin, end) in spans {
            match joined.last_mut() {
                Some(before) if begin <= before.1 => before.1 = before.1.max(end),
                _ => joined.push((begin, end)),
            }
        }
        joined
    }

    /// Returns the spans that begin on `date`: those of its exception, or else of its weekday.
    pub(super) fn spans_of_date(&self, date: Date, zone: &TimeZone) -> Vec<(Timestamp, Timestamp)> {
        let exception = self
            .exceptions
            .iter()
            .find(|exception| exception.covers_date(date));
        let weekly = self.spans.get(&weekday_index(date)).map(Vec::as_slice);
        let spans = exception.map_or(weekly.unwrap_or_default(), |exception| &exception.spans);
        spans
            .iter()
            .filter_map(|span| span.times_on_date(date, zone))
            .collect()
    }
}
