use super::EffectId;
use crate::millis::{self, add_duration, from_unix_millis};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Length of a cell. It is the same for all, since grids of different lengths would not see each other.
pub const CELL: SignedDuration = SignedDuration::from_mins(15);

/// Maximum number of cells of an event: ten hours. A move takes twice as many, which still fits one transaction.
pub const CELLS_MAX: usize = 40;

/// Time after its end at which a cell is free again by itself.
const EXPIRES_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// The reasons why a time of an event is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// The event ends before it begins, or when it begins.
    #[error("the end must be after the start")]
    Empty,
    /// The event has more than [`CELLS_MAX`] cells.
    #[error("an event of more than ten hours cannot be booked")]
    TooLong,
}

/// A quarter of an hour of a calendar.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The calendar, by the other side's name.
    pub calendar: String,
    /// The begin, a whole quarter of an hour.
    pub start: Timestamp,
}

impl Cell {
    /// Returns the time from which the cell is free without being given back. It is the same for each event, so that an event which is
    /// moved keeps a cell as it is stored. What overlaps an event after now shares a cell with it that has not ended yet.
    fn expires_at(&self) -> Timestamp {
        add_duration(self.start, CELL.saturating_add(EXPIRES_AFTER))
    }
}

/// A cell with the event that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldCell {
    /// The cell.
    pub cell: Cell,
    /// The event: the id of the effect that booked it.
    pub holder: EffectId,
    /// Time from which the cell is free without being given back.
    pub expires: Timestamp,
}

impl HeldCell {
    /// Returns whether the cell keeps `event` out at `now`.
    pub fn keeps_event_out(&self, event: &EffectId, now: Timestamp) -> bool {
        self.holder != *event && self.expires > now
    }
}

/// The time of an event on a calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellSpan {
    /// The calendar, by the other side's name.
    pub calendar: String,
    /// Begin of what is kept free: the event with what is kept free around it.
    #[serde(with = "millis")]
    pub start: Timestamp,
    /// End of what is kept free.
    #[serde(with = "millis")]
    pub end: Timestamp,
}

impl CellSpan {
    /// Checks that the time can be booked.
    pub fn check_length(&self) -> Result<(), SpanError> {
        if self.end <= self.start {
            return Err(SpanError::Empty);
        }
        if self.count_cells() > i64::try_from(CELLS_MAX).unwrap_or(i64::MAX) {
            return Err(SpanError::TooLong);
        }
        Ok(())
    }

    fn first_cell_millis(&self) -> i64 {
        let at = self.start.as_millisecond();
        at - at.rem_euclid(millis::to_millis(CELL))
    }

    fn count_cells(&self) -> i64 {
        let cell = millis::to_millis(CELL);
        let whole = self.end.as_millisecond().saturating_sub(self.first_cell_millis());
        whole.div_euclid(cell) + i64::from(whole.rem_euclid(cell) > 0)
    }

    /// Lists the cells of the time, rounded outwards, [`CELLS_MAX`] at most.
    pub fn list_cells(&self) -> Vec<Cell> {
        let first = from_unix_millis(self.first_cell_millis());
        let most = i32::try_from(CELLS_MAX).unwrap_or(i32::MAX);
        let count = i32::try_from(self.count_cells().max(0)).unwrap_or(most).min(most);
        let cell = |number: i32| Cell {
            calendar: self.calendar.clone(),
            start: add_duration(first, CELL.saturating_mul(number)),
        };
        (0..count).map(cell).collect()
    }

    /// Returns the begin of the first cell, and the end before which the last one begins.
    pub fn cell_bounds(&self) -> (Timestamp, Timestamp) {
        (from_unix_millis(self.first_cell_millis()), self.end)
    }

    /// Returns the time at which all cells of the time are free by themselves.
    pub fn cells_expire_at(&self) -> Timestamp {
        let length = millis::to_millis(CELL).saturating_mul(self.count_cells());
        let end = from_unix_millis(self.first_cell_millis().saturating_add(length));
        add_duration(end, EXPIRES_AFTER)
    }

    /// Lists the cells of the time as those of `event`.
    pub fn hold_cells_for(&self, event: &EffectId) -> Vec<HeldCell> {
        let held = |cell: Cell| HeldCell {
            expires: cell.expires_at(),
            cell,
            holder: event.clone(),
        };
        self.list_cells().into_iter().map(held).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: i64 = 60_000;

    fn span(start: i64, end: i64) -> CellSpan {
        CellSpan {
            calendar: "agenda".to_owned(),
            start: from_unix_millis(start * MINUTE),
            end: from_unix_millis(end * MINUTE),
        }
    }

    fn starts(span: &CellSpan) -> Vec<i64> {
        let cells = span.list_cells();
        cells
            .iter()
            .map(|cell| cell.start.as_millisecond() / MINUTE)
            .collect()
    }

    #[test]
    fn the_cells_of_a_time_are_rounded_outwards() {
        assert_eq!(starts(&span(30, 60)), [30, 45]);
        assert_eq!(starts(&span(31, 61)), [30, 45, 60]);
        assert_eq!(starts(&span(-20, -10)), [-30, -15]);
        assert_eq!(starts(&span(50, 55)), [45]);
    }

    #[test]
    fn an_event_has_an_end_after_its_start_and_ten_hours_at_most() {
        assert_eq!(span(30, 30).check_length(), Err(SpanError::Empty));
        assert_eq!(span(30, 15).check_length(), Err(SpanError::Empty));
        assert_eq!(span(0, 600).check_length(), Ok(()));
        assert_eq!(span(1, 601).check_length(), Err(SpanError::TooLong));
    }

    #[test]
    fn a_cell_keeps_other_events_out_until_a_minute_after_its_end() {
        let (own, other) = (EffectId::from_random_bits(0, 1), EffectId::from_random_bits(0, 2));
        let at = |minute: i64| from_unix_millis(minute * MINUTE);
        for end in [10, 15, 60] {
            let held = span(0, end).hold_cells_for(&own).remove(0);
            assert!(held.keeps_event_out(&other, at(15)));
            assert!(!held.keeps_event_out(&other, at(16)), "expired");
            assert!(!held.keeps_event_out(&own, at(3)), "held by the event itself");
        }
        assert_eq!(span(0, 31).cells_expire_at(), at(46));
    }

    proptest! {
        #[test]
        fn two_times_that_meet_share_a_cell(a in 0i64..900, b in 0i64..900, x in 1i64..200, y in 1i64..200) {
            let (one, two) = (span(a, a + x), span(b, b + y));
            let meet = a < b + y && b < a + x;
            let shared = one.list_cells().iter().any(|cell| two.list_cells().contains(cell));
            prop_assert!(shared || !meet);
        }

        #[test]
        fn what_meets_an_event_after_now_meets_a_cell_that_it_still_holds(
            a in 0i64..900, b in 0i64..900, x in 1i64..200, y in 1i64..200, passed in 0i64..1_100
        ) {
            let (one, two, now) = (span(a, a + x), span(b, b + y), from_unix_millis(passed * MINUTE));
            let (own, other) = (EffectId::from_random_bits(0, 1), EffectId::from_random_bits(0, 2));
            let meet_after_now = a.max(b).max(passed) < (a + x).min(b + y);
            let cells = two.list_cells();
            let mut held = one.hold_cells_for(&own).into_iter();
            let is_kept_out = held.any(|held| held.keeps_event_out(&other, now) && cells.contains(&held.cell));
            prop_assert!(is_kept_out || !meet_after_now);
        }
    }
}
