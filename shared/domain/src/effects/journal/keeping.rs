//! The time for which a journal keeps things, and bookings whose event people changed in the calendar itself.

use super::{EffectEntry, Journal, JournalChange};
use crate::effects::{Booking, Cell, CellSpan, EffectId, HeldCell};
use jiff::Timestamp;

/// Number of ended entries that a journal keeps for the drafts to come.
pub const KNOWN_ENTRIES: usize = 30;

impl Journal {
    /// Forgets bookings that are over, and ended entries beyond the newest [`KNOWN_ENTRIES`].
    pub(super) fn forget_told(&mut self, now: Timestamp) {
        self.bookings.retain(|booking| !booking.is_over_at(now));
        let keep_from = self.entries.len().saturating_sub(KNOWN_ENTRIES);
        let mut place = 0;
        self.entries.retain(|entry| {
            place += 1;
            place > keep_from || entry.state.is_open() || entry.fence
        });
    }

    /// Forgets what is over at `now` and ended `before` or earlier. Returns whether anything was forgotten.
    pub fn forget_ended(&mut self, before: Timestamp, now: Timestamp) -> bool {
        let stored = (self.entries.len(), self.bookings.len());
        let ended = |entry: &EffectEntry| !entry.fence && entry.ended_at.is_some_and(|at| at <= before);
        self.entries.retain(|entry| !ended(entry));
        self.bookings.retain(|booking| !booking.is_over_at(now));
        stored != (self.entries.len(), self.bookings.len())
    }

    /// Returns whether the journal holds nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.bookings.is_empty()
    }

    /// Lists all cells that events of the thread hold.
    pub fn held_cells(&self) -> Vec<HeldCell> {
        let booked = self.bookings.iter();
        let booked = booked.flat_map(Booking::list_own_cells);
        let open = self.entries.iter().filter(|entry| entry.state.is_open());
        let mut cells: Vec<HeldCell> = booked.chain(open.flat_map(list_taken_cells)).collect();
        cells.sort_by(|a, b| a.cell.cmp(&b.cell));
        cells.dedup_by(|a, b| a.cell == b.cell);
        cells
    }

    /// Returns whether an effect on the event has not ended yet.
    pub fn is_event_busy(&self, event: &EffectId) -> bool {
        let open = self.entries.iter().filter(|entry| entry.state.is_open());
        open.filter_map(EffectEntry::event).any(|busy| busy == event)
    }

    /// Lists the bookings at whose events the calendar is to be asked at `now`.
    pub fn bookings_to_look_at(&self, now: Timestamp) -> Vec<&Booking> {
        let due = |booking: &&Booking| booking.look_at <= now;
        self.bookings.iter().filter(due).collect()
    }

    /// Has the event looked at as soon as possible.
    pub(super) fn look_at_booking_soon(&mut self, event: &EffectId, now: Timestamp) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            booking.look_at = now;
        }
    }

    /// Notes that the event was looked at and stands as it is booked, or that nobody could say.
    pub fn note_booking_look(&mut self, event: &EffectId, now: Timestamp) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            booking.note_calendar_look(now);
        }
    }

    /// Ends the booking of an event that people deleted. While an effect on it is open, nothing changes.
    pub fn drop_booking(&mut self, event: &EffectId) -> JournalChange {
        let dropped = self.find_booking(event).filter(|_| !self.is_event_busy(event));
        let frees = dropped.map_or_else(Vec::new, Booking::list_own_cells);
        if dropped.is_some() {
            self.bookings.retain(|booking| booking.event != *event);
        }
        JournalChange {
            takes: Vec::new(),
            frees,
        }
    }

    /// Follows an event that people moved to `span`. Cells of it that other events hold (`of_others`) are not taken: the booking has
    /// a clash then. While an effect on the event is open, nothing changes.
    pub fn follow_booking(
        &mut self,
        event: &EffectId,
        span: CellSpan,
        of_others: &[Cell],
        now: Timestamp,
    ) -> JournalChange {
        let busy = self.is_event_busy(event);
        let found = self.bookings.iter_mut().find(|found| found.event == *event);
        let Some(booking) = found.filter(|_| !busy) else {
            return JournalChange::default();
        };
        let had = booking.list_own_cells();
        booking.change_time(span, of_others);
        booking.note_calendar_look(now);
        let has = booking.list_own_cells();
        let beyond = |cells: &[HeldCell], known: &[HeldCell]| {
            let is_new = |held: &&HeldCell| known.iter().all(|other| other.cell != held.cell);
            cells.iter().filter(is_new).cloned().collect()
        };
        JournalChange {
            takes: beyond(&has, &had),
            frees: beyond(&had, &has),
        }
    }

    /// Notes that the calendar shows no other event at the time of a booking that lacks cells. It is looked at again in an hour.
    pub fn note_clash_elsewhere(&mut self, event: &EffectId, now: Timestamp) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            if let Some(clash) = &mut booking.clash {
                clash.elsewhere = true;
                booking.note_calendar_look(now);
            }
        }
    }

    /// Notes that people were told of a booking's clash.
    pub fn note_clash_told(&mut self, event: &EffectId, now: Timestamp) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            if let Some(clash) = &mut booking.clash {
                clash.told = true;
                booking.note_calendar_look(now);
            }
        }
    }
}

/// Lists the cells that an entry took for its event.
pub(super) fn list_taken_cells(entry: &EffectEntry) -> Vec<HeldCell> {
    let (Some(span), Some(event)) = (entry.resulting_span(), entry.event()) else {
        return Vec::new();
    };
    let mut cells = span.hold_cells_for(event);
    cells.retain(|held| entry.takes.contains(&held.cell.start));
    cells
}

/// Lists the cells of `span` for `event` without those that `had` has.
pub(super) fn list_cells_beyond(span: &CellSpan, event: &EffectId, had: &[Cell]) -> Vec<HeldCell> {
    let mut cells = span.hold_cells_for(event);
    cells.retain(|held| !had.contains(&held.cell));
    cells
}
