//! Free slots as text for the model, and back.

use super::TimeSpan;
use jiff::civil::DateTime;
use jiff::tz::{Disambiguation, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// A time that an appointment may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FreeSlot {
    /// The begin of the appointment.
    pub start: Timestamp,
    /// The end of the appointment, without the buffer after it.
    pub end: Timestamp,
}

/// The reasons why a text is not the begin of an appointment. They are told to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SlotTextError {
    /// The text is not a time.
    #[error("the start must be written as 2026-11-24T10:00:00-03:00")]
    Format,
    /// The clocks skip this time.
    #[error("the clocks are put forward over this time: it does not exist on that day")]
    Skipped,
    /// The time occurs twice.
    #[error("the clocks are put back over this time, so it occurs twice: write it with its offset from UTC")]
    Twice,
}

impl FreeSlot {
    /// Makes a slot of a begin and a length. `None`: it ends after the end of all times.
    pub(super) fn from_slot_start(start: Timestamp, duration: SignedDuration) -> Option<Self> {
        let end = start.checked_add(duration).ok()?;
        Some(Self { start, end })
    }

    /// Returns the time of the appointment, without buffers.
    pub fn to_time_span(self) -> TimeSpan {
        TimeSpan {
            from: self.start,
            to: self.end,
        }
    }

    /// Returns the begin with its offset from UTC in `zone`, such as `2026-11-24T10:00:00-03:00`.
    pub fn format_start(self, zone: &TimeZone) -> String {
        self.start
            .display_with_offset(zone.to_offset(self.start))
            .to_string()
    }

    /// Returns the slot for the model, such as `Tue 2026-11-24 10:00-10:30 (start 2026-11-24T10:00:00-03:00)`.
    pub fn format_for_model(self, zone: &TimeZone) -> String {
        let (from, to) = (zone.to_datetime(self.start), zone.to_datetime(self.end));
        let end_format = if from.date() == to.date() {
            "%H:%M"
        } else {
            "%F %H:%M"
        };
        format!(
            "{}-{} (start {})",
            from.strftime("%a %F %H:%M"),
            to.strftime(end_format),
            self.format_start(zone),
        )
    }
}

/// Returns slots of one day for the model, in one line, such as `Tue 2026-11-24 10:00 (start 2026-11-24T10:00:00-03:00), 10:30, 11:00`.
pub fn format_day_for_model(day: &[FreeSlot], zone: &TimeZone) -> String {
    let times = day.iter().enumerate().map(|(place, slot)| {
        let at = zone.to_datetime(slot.start);
        if place > 0 {
            return at.strftime("%H:%M").to_string();
        }
        format!(
            "{} (start {})",
            at.strftime("%a %F %H:%M"),
            slot.format_start(zone)
        )
    });
    times.collect::<Vec<_>>().join(", ")
}

/// Reads the begin of an appointment: a time with its offset from UTC, or one by the clock on the wall in `zone`.
pub fn parse_slot_start(text: &str, zone: &TimeZone) -> Result<Timestamp, SlotTextError> {
    let text = text.trim();
    if text.len() > 64 || !text.contains(':') {
        return Err(SlotTextError::Format);
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let wall: DateTime = text.parse().map_err(|_| SlotTextError::Format)?;
    let found = zone.to_ambiguous_timestamp(wall);
    match found.offset() {
        jiff::tz::AmbiguousOffset::Unambiguous { .. } => found
            .disambiguate(Disambiguation::Compatible)
            .map_err(|_| SlotTextError::Format),
        jiff::tz::AmbiguousOffset::Gap { .. } => Err(SlotTextError::Skipped),
        jiff::tz::AmbiguousOffset::Fold { .. } => Err(SlotTextError::Twice),
    }
}
