//! The entries and bookings of a journal, looked up.

use super::{Booking, EffectEntry, EffectId, EffectState, Journal};
use crate::ids::{TenantId, ThreadId};
use serde_json::Value;

impl Journal {
    /// Returns the tenant and the thread, by which a store finds the journal.
    pub fn tenant_and_thread(&self) -> (&TenantId, &ThreadId) {
        (&self.tenant, &self.thread)
    }

    /// Returns the entry of this number.
    pub fn find_entry(&self, number: u64) -> Option<&EffectEntry> {
        self.entries.iter().find(|entry| entry.number == number)
    }

    /// Returns the entry that is under way. At most one is.
    pub fn running_entry(&self) -> Option<&EffectEntry> {
        self.entries
            .iter()
            .find(|entry| entry.state == EffectState::Doing)
    }

    /// Returns the booking of an event.
    pub fn find_booking(&self, event: &EffectId) -> Option<&Booking> {
        self.bookings.iter().find(|booking| booking.event == *event)
    }

    /// Returns the title that the model gave an event last, if the entry is still kept.
    pub fn find_appointment_title(&self, event: &EffectId) -> Option<&str> {
        let mut entries = self.entries.iter().rev();
        entries.find_map(|entry| {
            let title = entry.arguments.get("title").and_then(Value::as_str);
            title.filter(|title| entry.event() == Some(event) && !title.trim().is_empty())
        })
    }
}
