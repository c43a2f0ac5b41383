use super::{Cell, CellSpan, EffectId, HeldCell, ToolName};
use crate::ids::ThreadId;
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
    /// `true` while the calendar is still to show whether the contact confirmed it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub mark_due: bool,
    /// The clash with other events at its time; `None`: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clash: Option<BookingClash>,
}

/// A booking's clash with other events: people moved it in the calendar to a time that is taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingClash {
    /// Cells of the booking's time that other events hold, by their begin. The booking does not hold them.
    #[serde(default, with = "millis::list", skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Timestamp>,
    /// `true` once a note tells people of it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub told: bool,
    /// `true` if the calendar showed no other event at the time: the one that holds the cells was moved or deleted, too, and is followed
    /// later. There is nothing to tell then.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub elsewhere: bool,
}

/// An appointment of which a message reminds. The message is of no use once the contact does not have it at this time any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemindedAppointment {
    /// The thread in whose journal the event is booked.
    pub thread: ThreadId,
    /// The event.
    pub event: EffectId,
    /// The begin of the appointment.
    #[serde(with = "millis")]
    pub start: Timestamp,
}

impl Booking {
    /// Notes that the calendar was asked at `now`. It is asked again in an hour, and before a reminder is sent; at once if people are
    /// to be told of a clash, or the calendar of a confirmation.
    pub fn note_calendar_look(&mut self, now: Timestamp) {
        let waits = self.clash.as_ref().is_some_and(|clash| clash.elsewhere);
        let next = if (self.is_clash_untold() && !waits) || self.mark_due {
            now
        } else {
            add_duration(now, LOOK_EVERY)
        };
        self.look_at = self.reminders.iter().copied().fold(next, Timestamp::min);
    }

    /// Returns whether people are to be told of a clash.
    pub fn is_clash_untold(&self) -> bool {
        self.clash.as_ref().is_some_and(|clash| !clash.told)
    }

    /// Returns whether other events hold cells of its time.
    pub fn lacks_cells(&self) -> bool {
        self.clash.as_ref().is_some_and(|clash| !clash.cells.is_empty())
    }

    /// Lists the cells that the event holds: those of its time without those of other events.
    pub fn list_own_cells(&self) -> Vec<HeldCell> {
        let mut cells = self.span.hold_cells_for(&self.event);
        if let Some(clash) = &self.clash {
            cells.retain(|held| !clash.cells.contains(&held.cell.start));
        }
        cells
    }

    /// Gives the booking another time, of which other events hold the cells `of_others`. The same time again keeps what was told.
    pub(super) fn change_time(&mut self, span: CellSpan, of_others: &[Cell]) {
        let is_new = self.span != span;
        if is_new {
            self.span = span;
            self.drop_reminders();
        }
        let mut cells: Vec<Timestamp> = of_others.iter().map(|cell| cell.start).collect();
        let own = self.span.list_cells();
        cells.retain(|start| own.iter().any(|cell| cell.start == *start));
        let before = self.clash.take().filter(|_| !is_new).unwrap_or_default();
        self.clash = (!cells.is_empty()).then_some(BookingClash { cells, ..before });
    }

    /// Returns the line that tells people of the clash.
    pub fn describe_clash(&self) -> String {
        format!(
            "The appointment at {} (event {}) is at the same time as another one in the calendar: please look.",
            self.span.start, self.event
        )
    }

    /// Has the reminders planned again, since the appointment has another time.
    pub fn drop_reminders(&mut self) {
        self.reminders.clear();
        self.reminded_for = None;
        self.mark_due |= self.confirmed;
        self.confirmed = false;
    }

    /// Returns whether the event is over at `now`. Its cells have expired then.
    pub fn is_over_at(&self, now: Timestamp) -> bool {
        self.span.cells_expire_at() <= now
    }
}
