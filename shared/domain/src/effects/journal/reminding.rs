//! The reminders of bookings, and what contacts answer to them.

use super::Journal;
use crate::effects::{EffectId, RemindedAppointment};
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

    /// Returns whether the contact still has an appointment at the time of which a message reminds.
    pub fn has_reminded_appointment(&self, reminded: &RemindedAppointment) -> bool {
        let booking = self.find_booking(&reminded.event);
        booking.is_some_and(|booking| booking.reminded_for == Some(reminded.start))
    }

    /// Has the calendar asked for the event at this time.
    pub fn put_booking_look_off(&mut self, event: &EffectId, until: Timestamp) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            booking.look_at = until;
        }
    }

    /// Notes that the contact confirmed a booking. The calendar is told with the next look at its event, as soon as possible.
    pub fn confirm_booking(&mut self, event: &EffectId, now: Timestamp) {
        let mut found = self.bookings.iter_mut();
        let found = found.find(|found| found.event == *event && !found.confirmed);
        if let Some(booking) = found {
            booking.confirmed = true;
            booking.mark_due = true;
            booking.note_calendar_look(now);
        }
    }

    /// Notes that the calendar shows whether the contact confirmed a booking, as it was known then (`was_confirmed`).
    pub fn note_confirmation_shown(&mut self, event: &EffectId, was_confirmed: bool) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            booking.mark_due &= booking.confirmed != was_confirmed;
        }
    }

    /// Notes that another event stands in the calendar at the time of a booking. People are told as soon as possible.
    pub fn note_other_event(&mut self, event: &EffectId, now: Timestamp) {
        for booking in self.bookings.iter_mut().filter(|found| found.event == *event) {
            booking.clash.get_or_insert_default().elsewhere = false;
            booking.note_calendar_look(now);
        }
    }
}
