//! The rules by which a calendar takes appointments.

use super::{FreeSlot, TimeSpan};
use crate::effects::CellSpan;
use crate::hours::{HoursError, OpeningHours};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// Largest number of minutes of an appointment with its buffers. Wherever it begins, it takes at most
/// [`CELLS_MAX`](crate::effects::CELLS_MAX) cells.
const MINUTES_MAX: u32 = 39 * 15;

/// Largest number of days ahead.
const HORIZON_DAYS_MAX: u16 = 366;

/// The rules by which a calendar takes appointments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BookingRules {
    /// The hours within which an appointment lies from its begin to its end, without `closed_message` and `replies_per_minute`.
    pub hours: OpeningHours,
    /// Minutes from one possible begin to the next, counted from midnight by the clock on the wall: a divisor of 1440.
    #[cfg_attr(feature = "schema", schema(default = 15, minimum = 5, maximum = 240))]
    #[serde(default = "BookingRules::default_grid_minutes")]
    pub grid_minutes: u16,
    /// Minutes that are kept free before an appointment. They need not lie within the hours.
    #[cfg_attr(feature = "schema", schema(default = 0))]
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub buffer_before_minutes: u16,
    /// Minutes that are kept free after an appointment.
    #[cfg_attr(feature = "schema", schema(default = 0))]
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub buffer_after_minutes: u16,
    /// Minutes from now until the first begin that is offered.
    #[cfg_attr(feature = "schema", schema(default = 60))]
    #[serde(default = "BookingRules::default_notice_minutes")]
    pub notice_minutes: u32,
    /// Days from now until the last begin that is offered.
    #[cfg_attr(feature = "schema", schema(default = 60, minimum = 1, maximum = 366))]
    #[serde(default = "BookingRules::default_horizon_days")]
    pub horizon_days: u16,
}

/// The reasons why rules are not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BookingRulesError {
    /// The hours are not valid.
    #[error("hours: {0}")]
    Hours(#[from] HoursError),
    /// The hours name what has no meaning for a calendar.
    #[error("hours: `{0}` has no meaning for a calendar")]
    HoursField(&'static str),
    /// The grid does not divide a day.
    #[error("grid_minutes must be between 5 and 240, and divide a day (1440)")]
    Grid,
    /// The horizon is out of its range.
    #[error("horizon_days must be between 1 and {HORIZON_DAYS_MAX}")]
    Horizon,
    /// Nothing could be booked.
    #[error("notice_minutes must be shorter than horizon_days")]
    Notice,
    /// The appointment has no length, or too much.
    #[error("an appointment takes at least 5 minutes, and at most {MINUTES_MAX} together with its buffers")]
    Duration,
}

impl BookingRules {
    fn default_grid_minutes() -> u16 {
        15
    }

    fn default_notice_minutes() -> u32 {
        60
    }

    fn default_horizon_days() -> u16 {
        60
    }

    /// Checks the rules.
    pub fn check_rules(&self) -> Result<(), BookingRulesError> {
        self.hours.check_hours()?;
        if self.hours.closed_message.is_some() {
            return Err(BookingRulesError::HoursField("closed_message"));
        }
        if self.hours.replies_per_minute.is_some() {
            return Err(BookingRulesError::HoursField("replies_per_minute"));
        }
        if !(5..=240).contains(&self.grid_minutes) || 1440 % self.grid_minutes != 0 {
            return Err(BookingRulesError::Grid);
        }
        if !(1..=HORIZON_DAYS_MAX).contains(&self.horizon_days) {
            return Err(BookingRulesError::Horizon);
        }
        if self.notice_minutes >= u32::from(self.horizon_days) * 1440 {
            return Err(BookingRulesError::Notice);
        }
        Ok(())
    }

    /// Checks the length of an appointment under these rules.
    pub fn check_duration(&self, minutes: u16) -> Result<SignedDuration, BookingRulesError> {
        let buffers = u32::from(self.buffer_before_minutes) + u32::from(self.buffer_after_minutes);
        if minutes < 5 || u32::from(minutes) + buffers > MINUTES_MAX {
            return Err(BookingRulesError::Duration);
        }
        Ok(SignedDuration::from_mins(i64::from(minutes)))
    }

    /// Returns the zone of the calendar: that of its hours, or else `tenants`.
    pub fn resolve_time_zone(&self, tenants: TimeZone) -> TimeZone {
        self.hours.resolve_time_zone(tenants)
    }

    /// Returns the time of an appointment within the time that is held for it. `None`: the buffers leave nothing of it.
    pub fn span_within_buffers(&self, held: TimeSpan) -> Option<TimeSpan> {
        let (before, after) = self.buffer_lengths();
        let from = held.from.checked_add(before).ok()?;
        let to = held.to.checked_sub(after).ok()?;
        (from < to).then_some(TimeSpan { from, to })
    }

    /// Returns the time of a calendar that an appointment holds: with its buffers.
    pub fn span_to_hold(&self, calendar: &str, slot: FreeSlot) -> CellSpan {
        let (before, after) = self.buffer_lengths();
        let wide = slot.to_time_span().widen_time_span(before, after);
        CellSpan {
            calendar: calendar.to_owned(),
            start: wide.from,
            end: wide.to,
        }
    }

    pub(super) fn buffer_lengths(&self) -> (SignedDuration, SignedDuration) {
        let minutes = |minutes: u16| SignedDuration::from_mins(i64::from(minutes));
        (
            minutes(self.buffer_before_minutes),
            minutes(self.buffer_after_minutes),
        )
    }
}
