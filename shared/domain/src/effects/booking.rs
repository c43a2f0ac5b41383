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
}

impl Booking {
    /// Notes that the calendar was asked at `now`.
    pub fn note_calendar_look(&mut self, now: Timestamp) {
        self.look_at = add_duration(now, LOOK_EVERY);
    }

    /// Returns whether the event is over at `now`. Its cells have expired then.
    pub fn is_over_at(&self, now: Timestamp) -> bool {
        add_duration(self.span.end, SignedDuration::from_mins(1)) <= now
    }
}
