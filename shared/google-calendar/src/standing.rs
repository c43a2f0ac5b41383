//! Questions about an event that stands in the calendar, and the mark of one that the customer confirmed.

use crate::client::{CalendarTarget, GoogleCalendar};
use crate::error::CalendarError;
use crate::event::{CalendarEvent, EventListQuery, write_confirmation};
use jiff::tz::TimeZone;
use recado_domain::calendar::TimeSpan;
use recado_domain::effects::EffectId;
use recado_ports::ports::{Secrets, System};

/// Largest number of events that are looked through for one that meets another.
const LOOKED_THROUGH_MAX: u16 = 50;

impl<S: Secrets, A: System> GoogleCalendar<S, A> {
    /// Returns whether an event other than `own` takes some of this time. Busy times do not tell: they join what meets.
    pub async fn has_other_event(
        &self,
        target: &CalendarTarget<'_>,
        own: &EffectId,
        time: TimeSpan,
    ) -> Result<bool, CalendarError> {
        let query = EventListQuery {
            tag: None,
            time,
            limit: LOOKED_THROUGH_MAX,
        };
        let listed = self.list_events(target, &query, &TimeZone::UTC).await?;
        let is_other = |event: &CalendarEvent| event.id != own.as_str() && !event.is_free;
        Ok(listed.events.iter().any(is_other))
    }

    /// Shows people in an event whether the customer confirmed it. An event that was deleted stays as it is.
    pub async fn mark_event_confirmed(
        &self,
        target: &CalendarTarget<'_>,
        id: &EffectId,
        is_confirmed: bool,
    ) -> Result<(), CalendarError> {
        let Some(event) = self.find_present_event(target, id).await? else {
            return Ok(());
        };
        let body = write_confirmation(event.summary.as_deref().unwrap_or_default(), is_confirmed);
        self.patch_event(target, id, &event.etag, body).await.map(drop)
    }
}
