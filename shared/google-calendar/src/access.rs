//! Questions that show whether a calendar can be worked with.

use crate::answer::{RequestKind, plain_word};
use crate::client::{CalendarRequest, CalendarTarget, GoogleCalendar};
use crate::error::CalendarError;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use recado_domain::calendar::{BookingRules, FreeSlots, SlotQuery, TimeSpan};
use recado_ports::ports::{Secrets, System};
use reqwest::Method;

/// The time in which free slots are looked for first. Mostly there are enough.
const NEAR: SignedDuration = SignedDuration::from_hours(14 * 24);

/// The things that the account of a credential may do with a calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CalendarAccess {
    /// The account may read and change events.
    Writes,
    /// The account may only read: the word is Google's name of the role.
    ReadsOnly(String),
}

impl<S: Secrets, A: System> GoogleCalendar<S, A> {
    /// Asks what the account may do: the list of events tells the role.
    /// <https://developers.google.com/workspace/calendar/api/v3/reference/events/list#response>
    pub async fn query_access(&self, target: &CalendarTarget<'_>) -> Result<CalendarAccess, CalendarError> {
        let request = CalendarRequest {
            kind: RequestKind::Question,
            method: Method::GET,
            path: &["calendars", target.calendar_id, "events"],
            query: &[("maxResults", "1")],
            version: None,
            body: None,
        };
        let body = self.call_api(target.credential, request).await?;
        match plain_word(&body["accessRole"]) {
            Some(role) if role == "owner" || role == "writer" => Ok(CalendarAccess::Writes),
            Some(role) => Ok(CalendarAccess::ReadsOnly(role)),
            None => Err(CalendarError::unavailable("the answer names no role")),
        }
    }

    /// Finds the next free slots: in two weeks, and if there are none, up to the horizon.
    pub async fn find_next_slots(
        &self,
        target: &CalendarTarget<'_>,
        rules: &BookingRules,
        appointment: &NextSlots<'_>,
    ) -> Result<FreeSlots, CalendarError> {
        let now = appointment.now;
        let near = now.saturating_add(NEAR).unwrap_or(Timestamp::MAX);
        let mut found = FreeSlots {
            slots: Vec::new(),
            next_start: None,
        };
        for to in [near, Timestamp::MAX] {
            let window = TimeSpan { from: now, to };
            let busy = match rules.find_span_to_ask(window, appointment.duration, now) {
                Some(span) => self.query_busy_times(target, span).await?,
                None => continue,
            };
            let query = SlotQuery {
                now,
                window,
                duration: appointment.duration,
                busy: &busy,
                held: &[],
                limit: appointment.limit,
            };
            found = rules.find_free_slots(&query, appointment.zone);
            if !found.slots.is_empty() {
                break;
            }
        }
        Ok(found)
    }
}

/// The appointment for which free slots are looked for.
#[derive(Debug, Clone, Copy)]
pub struct NextSlots<'a> {
    /// The present time.
    pub now: Timestamp,
    /// The length of the appointment.
    pub duration: SignedDuration,
    /// The zone of the calendar.
    pub zone: &'a TimeZone,
    /// Largest number of slots.
    pub limit: usize,
}
