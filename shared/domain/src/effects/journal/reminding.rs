//! The reminders of bookings, and what contacts answer to them.

use super::Journal;
use crate::effects::EffectId;
use jiff::Timestamp;

impl Journal {
    /// Plans the reminders of a booking whose appointment begins at `start`. Those that would be due by now are left out.
    pub fn plan_reminders(
        &mut self,
        event: &EffectId,
        start: Timestamp,
        times: &[Timestamp],
        now: Timestamp,
    ) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            booking.reminders = times.iter().copied().filter(|at| *at > now).collect();
            booking.reminders.sort();
            booking.reminded_for = Some(start);
            booking.note_calendar_look(now);
        }
    }

    /// Notes that the reminders that were due at `now` are handed over to be sent.
    pub fn note_reminded(&mut self, event: &EffectId, now: Timestamp) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            booking.reminders.retain(|at| *at > now);
            booking.note_calendar_look(now);
        }
    }

    /// Has the calendar asked for the event at this time.
    pub fn put_booking_look_off(&mut self, event: &EffectId, until: Timestamp) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            booking.look_at = until;
        }
    }

    /// Notes that the contact confirmed a booking.
    pub fn confirm_booking(&mut self, event: &EffectId) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            booking.confirmed = true;
        }
    }
}
