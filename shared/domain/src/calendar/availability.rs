//! Which times of a calendar are free.

use super::grid::{first_time_on_grid, is_time_of_grid};
use super::{BookingRules, FreeSlot, TimeSpan};
use crate::effects::CellSpan;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Largest number of slots that are returned at once.
const SLOTS_MAX: usize = 200;

/// A question for free slots.
#[derive(Debug, Clone, Copy)]
pub struct SlotQuery<'a> {
    /// The present time.
    pub now: Timestamp,
    /// The time within which the appointment begins.
    pub window: TimeSpan,
    /// The length of the appointment.
    pub duration: SignedDuration,
    /// The times at which the calendar has events, in any order.
    pub busy: &'a [TimeSpan],
    /// The times that other appointments of ours hold with their buffers, in any order. All of their cells are taken.
    pub held: &'a [CellSpan],
    /// Largest number of slots to return, at most 200.
    pub limit: usize,
}

/// The answer to a question for free slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeSlots {
    /// The first free slots of the window, in order.
    pub slots: Vec<FreeSlot>,
    /// The begin of the first free slot that is left out for the limit; `None`: these are all.
    pub next_start: Option<Timestamp>,
}

/// The reasons why an appointment cannot begin at a time. They are told to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SlotRefusal {
    /// The time is no time of the grid.
    #[error("no appointment begins at this minute: take the start of a free slot")]
    OffGrid,
    /// The time is nearer than the notice that the rules ask for.
    #[error("this time is too soon, or over")]
    TooSoon,
    /// The time lies behind the horizon.
    #[error("this time is further ahead than appointments are made")]
    TooFar,
    /// The appointment lies outside the hours, or a part of it.
    #[error("the appointment would lie outside the working hours")]
    OutsideHours,
    /// Something else is at this time, or within the buffers.
    #[error("this time is taken")]
    Taken,
}

impl BookingRules {
    /// Finds the free slots that begin within the window, in order: within the hours from begin to end, on the grid, after the notice,
    /// up to the horizon, and with their buffers away from everything busy and from cells that are held.
    pub fn find_free_slots(&self, query: &SlotQuery<'_>, zone: &TimeZone) -> FreeSlots {
        let mut found = FreeSlots {
            slots: Vec::new(),
            next_start: None,
        };
        if query.duration <= SignedDuration::ZERO {
            return found;
        }
        let taken = TakenTimes::from_query(query);
        let (first, last) = self.limits_of_begin(query.now);
        // The horizon itself may be a begin, the end of the window may not.
        let is_asked = |start: Timestamp| start <= last && start < query.window.to;
        let ends_before = last
            .min(query.window.to)
            .saturating_add(query.duration)
            .unwrap_or(Timestamp::MAX);
        for (opening, closing) in self
            .hours
            .open_intervals(query.window.from.max(first), ends_before, zone)
        {
            let mut at = opening;
            while let Some(start) =
                first_time_on_grid(at, self.grid_minutes, zone).filter(|start| is_asked(*start))
            {
                let slot = FreeSlot::from_slot_start(start, query.duration);
                let Some(slot) = slot.filter(|slot| slot.end <= closing) else {
                    break;
                };
                let conflict_over = self.conflict_over_at(slot, &taken);
                if conflict_over.is_none() {
                    if found.slots.len() >= query.limit.min(SLOTS_MAX) {
                        found.next_start = Some(start);
                        return found;
                    }
                    found.slots.push(slot);
                }
                let next = start.saturating_add(SignedDuration::from_secs(1));
                at = next.unwrap_or(closing).max(conflict_over.unwrap_or(start));
            }
        }
        found
    }

    /// Checks that an appointment may begin at `start`. The window and the limit of the query do not count.
    pub fn check_slot(
        &self,
        start: Timestamp,
        query: &SlotQuery<'_>,
        zone: &TimeZone,
    ) -> Result<FreeSlot, SlotRefusal> {
        let (first, last) = self.limits_of_begin(query.now);
        if !is_time_of_grid(start, self.grid_minutes, zone) {
            return Err(SlotRefusal::OffGrid);
        }
        if start < first {
            return Err(SlotRefusal::TooSoon);
        }
        if start > last {
            return Err(SlotRefusal::TooFar);
        }
        let slot = FreeSlot::from_slot_start(start, query.duration).filter(|slot| slot.start < slot.end);
        let slot = slot.ok_or(SlotRefusal::OutsideHours)?;
        let open = self.hours.open_intervals(slot.start, slot.end, zone);
        if open != [(slot.start, slot.end)] {
            return Err(SlotRefusal::OutsideHours);
        }
        match self.conflict_over_at(slot, &TakenTimes::from_query(query)) {
            None => Ok(slot),
            Some(_) => Err(SlotRefusal::Taken),
        }
    }

    /// Returns the time for which the calendar must be asked, so that the slots of `window` can be judged. `None`: no slot of the
    /// window can be booked at all.
    pub fn find_span_to_ask(
        &self,
        window: TimeSpan,
        duration: SignedDuration,
        now: Timestamp,
    ) -> Option<TimeSpan> {
        let (first, last) = self.limits_of_begin(now);
        let starts = TimeSpan {
            from: window.from.max(first),
            to: window.to.min(last),
        };
        let (before, after) = self.buffer_lengths();
        (starts.from <= starts.to).then(|| starts.widen_time_span(before, duration.saturating_add(after)))
    }

    /// Returns the first and the last begin that are offered at `now`.
    fn limits_of_begin(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        let ahead = |minutes: i64| {
            let at = now.saturating_add(SignedDuration::from_mins(minutes));
            at.unwrap_or(Timestamp::MAX)
        };
        (
            ahead(i64::from(self.notice_minutes)),
            ahead(i64::from(self.horizon_days) * 1440),
        )
    }

    /// Returns the first begin at which what overlaps this slot no longer does; `None` if the slot is free.
    fn conflict_over_at(&self, slot: FreeSlot, taken: &TakenTimes) -> Option<Timestamp> {
        let (before, after) = self.buffer_lengths();
        let wide = slot.to_time_span().widen_time_span(before, after);
        if let Some(busy) = find_overlapping(&taken.busy, wide) {
            return Some(busy.to.saturating_add(before).unwrap_or(Timestamp::MAX));
        }
        // A cell that this appointment touches is one of its own cells.
        let held = find_overlapping(&taken.held, wide)?;
        Some(held.to.saturating_add(before).unwrap_or(Timestamp::MAX))
    }
}

/// Everything that takes time, sorted and joined.
struct TakenTimes {
    busy: Vec<TimeSpan>,
    held: Vec<TimeSpan>,
}

impl TakenTimes {
    fn from_query(query: &SlotQuery<'_>) -> Self {
        let cells = query.held.iter().flat_map(CellSpan::list_cells);
        let held: Vec<TimeSpan> = cells.map(|cell| TimeSpan::of_cell(&cell)).collect();
        Self {
            busy: TimeSpan::join_time_spans(query.busy),
            held: TimeSpan::join_time_spans(&held),
        }
    }
}

/// Returns the first of the sorted and joined `spans` that overlaps `span`.
fn find_overlapping(spans: &[TimeSpan], span: TimeSpan) -> Option<TimeSpan> {
    let place = spans.partition_point(|other| other.to <= span.from);
    spans
        .get(place)
        .copied()
        .filter(|other| other.overlaps_with_span(&span))
}
