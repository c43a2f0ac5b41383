//! Calendars that appointments are booked in: by which rules, and which times are free.

mod availability;
mod grid;
pub(crate) mod lead;
mod reminders;
mod rules;
mod slot;
mod time_span;

pub use availability::{FreeSlots, SlotQuery, SlotRefusal};
pub use reminders::{
    REMINDERS_MAX, Reminder, ReminderError, ReminderTemplate, check_reminders, name_reminder,
};
pub use rules::{BookingRules, BookingRulesError};
pub use slot::{FreeSlot, SlotTextError, format_day_for_model, parse_slot_start};
pub use time_span::TimeSpan;

#[cfg(test)]
mod tests;
