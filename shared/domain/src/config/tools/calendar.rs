//! The functions of a tool that works with a calendar: what the model calls, and what its arguments mean.

use crate::calendar::{FreeSlot, SlotQuery, TimeSpan, parse_slot_start};
use crate::config::Calendar;
use crate::content::Content;
use crate::effects::{Booking, CellSpan, EffectAction, EffectId, HeldCell, Journal};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Time for which free slots are listed if the model names no end.
pub(super) const USUAL_WINDOW: SignedDuration = SignedDuration::from_hours(14 * 24);

/// The things that a function of a calendar does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarOperation {
    /// Lists free slots.
    FreeSlots,
    /// Lists the appointments of the contact.
    Appointments,
    /// Books an appointment.
    Book,
    /// Moves an appointment of the contact.
    Move,
    /// Cancels an appointment of the contact.
    Cancel,
    /// Notes that the contact confirmed an appointment.
    Confirm,
}

/// A function of a calendar, with the calendar as it is configured.
#[derive(Debug, Clone, PartialEq)]
pub struct CalendarFunction {
    /// The operation.
    pub operation: CalendarOperation,
    /// The calendar.
    pub calendar: Calendar,
    /// The zone of the calendar.
    pub zone: TimeZone,
}

/// A question for free slots, as the model asked it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedSlots {
    /// The time in which the appointment begins.
    pub window: TimeSpan,
    /// The length of the appointment.
    pub duration: SignedDuration,
}

impl CalendarFunction {
    /// Reads a question for free slots. A mistake is told to the model.
    pub fn read_slots_question(&self, arguments: &Value, now: Timestamp) -> Result<AskedSlots, String> {
        let day_start = |date: Date| {
            let at = self.zone.to_timestamp(date.at(0, 0, 0, 0));
            at.map_err(|_| "this day does not exist".to_owned())
        };
        let from = read_calendar_day(arguments, "from")?
            .map(day_start)
            .transpose()?
            .unwrap_or(now);
        let to = match read_calendar_day(arguments, "to")? {
            Some(date) => day_start(
                date.tomorrow()
                    .map_err(|_| "this day does not exist".to_owned())?,
            )?,
            None => from.saturating_add(USUAL_WINDOW).unwrap_or(Timestamp::MAX),
        };
        Ok(AskedSlots {
            window: TimeSpan { from, to },
            duration: self.read_appointment_length(arguments),
        })
    }

    /// Reads the length of the appointment: one of the calendar's, or its usual one.
    pub(super) fn read_appointment_length(&self, arguments: &Value) -> SignedDuration {
        let asked = arguments["minutes"]
            .as_u64()
            .and_then(|minutes| u16::try_from(minutes).ok());
        let known = asked.filter(|minutes| self.calendar.minutes.contains(minutes));
        known.map_or_else(
            || self.calendar.usual_appointment_length(),
            |minutes| SignedDuration::from_mins(i64::from(minutes)),
        )
    }

    /// Reads the begin of an appointment. A mistake is told to the model.
    pub fn read_appointment_start(&self, arguments: &Value) -> Result<Timestamp, String> {
        let text = arguments["start"].as_str().unwrap_or_default();
        parse_slot_start(text, &self.zone).map_err(|error| error.to_string())
    }

    /// Returns the time for which the calendar is asked to answer a question. `None`: nothing of it can be booked.
    pub fn find_time_to_ask_for(&self, asked: &AskedSlots, now: Timestamp) -> Option<TimeSpan> {
        let rules = &self.calendar.rules;
        rules.find_span_to_ask(asked.window, asked.duration, now)
    }

    /// Returns a time of the calendar, as cells are held in it.
    pub fn to_calendar_cell_span(&self, span: TimeSpan) -> CellSpan {
        CellSpan {
            calendar: self.calendar.name_cell_calendar(),
            start: span.from,
            end: span.to,
        }
    }

    /// Lists the bookings of a thread that stand in this calendar and are to come.
    pub fn list_coming_bookings<'a>(
        &'a self,
        journal: &'a Journal,
        now: Timestamp,
    ) -> impl Iterator<Item = &'a Booking> {
        let calendar = self.calendar.name_cell_calendar();
        journal
            .bookings
            .iter()
            .filter(move |booking| booking.span.calendar == calendar && booking.span.end > now)
    }

    /// Returns the appointment of a booking, without its buffers.
    pub fn find_appointment_time(&self, booking: &Booking) -> Option<TimeSpan> {
        self.calendar.rules.span_within_buffers(TimeSpan {
            from: booking.span.start,
            to: booking.span.end,
        })
    }

    /// Returns the time that an event of the calendar holds: with the buffers.
    pub fn span_of_event(&self, time: TimeSpan) -> CellSpan {
        let slot = FreeSlot {
            start: time.from,
            end: time.to,
        };
        let rules = &self.calendar.rules;
        rules.span_to_hold(&self.calendar.name_cell_calendar(), slot)
    }

    /// Lists the times of the reminders of an appointment that begins at `start`.
    pub fn list_reminder_times(&self, start: Timestamp) -> Vec<Timestamp> {
        let reminders = self.calendar.reminders.iter();
        reminders
            .filter_map(|reminder| reminder.due_at(start, &self.zone))
            .collect()
    }

    /// Makes the content of the reminder that is due at `due`. `None`: there is none any more, or none that may be sent.
    pub fn make_reminder(&self, start: Timestamp, due: Timestamp, takes_text: bool) -> Option<Content> {
        let mut reminders = self.calendar.reminders.iter();
        let reminder = reminders.find(|reminder| reminder.due_at(start, &self.zone) == Some(due))?;
        reminder.make_content(start, &self.zone, takes_text)
    }

    /// Lists the contact's appointments for the model.
    pub fn describe_bookings(&self, journal: &Journal, now: Timestamp) -> String {
        let mut bookings: Vec<&Booking> = self.list_coming_bookings(journal, now).collect();
        bookings.sort_by_key(|booking| booking.span.start);
        let line = |booking: &Booking| {
            let time = self.find_appointment_time(booking)?;
            let slot = FreeSlot {
                start: time.from,
                end: time.to,
            };
            let confirmed = if booking.confirmed { ", confirmed" } else { "" };
            let (when, id) = (slot.format_for_model(&self.zone), booking.event.as_str());
            Some(format!("{when} (appointment {id}{confirmed})"))
        };
        let lines: Vec<String> = bookings.into_iter().filter_map(line).collect();
        if lines.is_empty() {
            return "the contact has no appointment".to_owned();
        }
        lines.join("\n")
    }

    /// Finds the booking that the arguments name, or the only one. A mistake is told to the model.
    pub fn find_named_booking<'a>(
        &'a self,
        arguments: &Value,
        journal: &'a Journal,
        now: Timestamp,
    ) -> Result<&'a Booking, String> {
        let mut bookings: Vec<&Booking> = self.list_coming_bookings(journal, now).collect();
        if let Some(named) = arguments["appointment"].as_str() {
            bookings.retain(|booking| booking.event.as_str() == named.trim());
        }
        match bookings[..] {
            [one] => Ok(one),
            [] => Err("there is no such appointment of this contact".to_owned()),
            _ => Err("the contact has several appointments: name one by its id".to_owned()),
        }
    }

    /// Plans a booking: checks that the time may be booked and is not busy. A refusal is told to the model.
    pub fn plan_new_booking(
        &self,
        arguments: &Value,
        busy: &[TimeSpan],
        now: Timestamp,
    ) -> Result<EffectAction, String> {
        let start = self.read_appointment_start(arguments)?;
        let span = self.check_appointment_start(start, self.read_appointment_length(arguments), busy, now)?;
        Ok(EffectAction::Book { span })
    }

    /// Plans a move of `booking`, whose event was read in `version`. Its own time does not count as busy.
    pub fn plan_appointment_move(
        &self,
        arguments: &Value,
        (booking, version): (&Booking, String),
        busy: &[TimeSpan],
        now: Timestamp,
    ) -> Result<EffectAction, String> {
        let start = self.read_appointment_start(arguments)?;
        let own = self
            .find_appointment_time(booking)
            .ok_or("this appointment cannot be moved")?;
        let others: Vec<TimeSpan> = busy.iter().flat_map(|span| without_span(*span, own)).collect();
        let length = own.to.duration_since(own.from);
        let span = self.check_appointment_start(start, length, &others, now)?;
        Ok(EffectAction::Move {
            event: booking.event.clone(),
            version,
            span,
        })
    }

    fn check_appointment_start(
        &self,
        start: Timestamp,
        duration: SignedDuration,
        busy: &[TimeSpan],
        now: Timestamp,
    ) -> Result<CellSpan, String> {
        let query = SlotQuery {
            now,
            window: TimeSpan {
                from: start,
                to: start,
            },
            duration,
            busy,
            held: &[],
            limit: 1,
        };
        let rules = &self.calendar.rules;
        let slot = rules.check_slot(start, &query, &self.zone);
        let slot = slot.map_err(|refusal| refusal.to_string())?;
        Ok(rules.span_to_hold(&self.calendar.name_cell_calendar(), slot))
    }
}

/// Returns the cells of others than `event`.
pub fn cells_of_others(held: Vec<HeldCell>, event: Option<&EffectId>) -> Vec<HeldCell> {
    let is_other = |cell: &HeldCell| event.is_none_or(|event| cell.holder != *event);
    held.into_iter().filter(is_other).collect()
}

/// Returns what is left of `span` without `taken`.
fn without_span(span: TimeSpan, taken: TimeSpan) -> Vec<TimeSpan> {
    if !span.overlaps_with_span(&taken) {
        return vec![span];
    }
    let before = TimeSpan {
        from: span.from,
        to: taken.from,
    };
    let after = TimeSpan {
        from: taken.to,
        to: span.to,
    };
    let is_some = |part: &TimeSpan| part.from < part.to;
    [before, after].into_iter().filter(is_some).collect()
}

fn read_calendar_day(arguments: &Value, name: &str) -> Result<Option<Date>, String> {
    let Some(text) = arguments[name].as_str() else {
        return Ok(None);
    };
    let date = text.trim().parse::<Date>();
    date.map(Some)
        .map_err(|_| format!("`{name}` must be a day, such as 2026-11-24"))
}
