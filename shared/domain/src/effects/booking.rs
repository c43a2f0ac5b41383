use super::{CellSpan, EffectId, ToolName};
use crate::millis::{self, add_duration};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Pause between two looks at the event of a booking: people delete and move events in the calendar itself.
const LOOK_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// An event that an agent booked and that stands in the calendar, as far as known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    /// The event: the id of the effect that booked it.
    pub event: EffectId,
    /// The agent and its tool that booked it, by which the calendar is asked.
    pub tool: ToolName,
    /// The time that is held for it.
    pub span: CellSpan,
    /// Time at which the calendar is asked next for the event.
    #[serde(with = "millis")]
    pub look_at: Timestamp,
    /// Times of the reminders that are still to come.
    #[serde(default, with = "millis::list", skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<Timestamp>,
    /// The begin of the appointment for which the reminders were planned; `None`: they are not planned yet.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub reminded_for: Option<Timestamp>,
    /// `true` if the contact confirmed it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub confirmed: bool,
}

impl Booking {
    /// Notes that the calendar was asked at `now`. It is asked again in an hour, and before a reminder is sent.
    pub fn note_calendar_look(&mut self, now: Timestamp) {
        let next = add_duration(now, LOOK_EVERY);
        self.look_at = self.reminders.iter().copied().fold(next, Timestamp::min);
    }

    /// Has the reminders planned again, since the appointment has another time.
    pub fn drop_reminders(&mut self) {
        self.reminders.clear();
        self.reminded_for = None;
        self.confirmed = false;
    }

    /// Returns whether the event is over at `now`. Its cells have expired then.
    pub fn is_over_at(&self, now: Timestamp) -> bool {
        add_duration(self.span.end, SignedDuration::from_mins(1)) <= now
    }
}
