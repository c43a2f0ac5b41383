//! The requests that Recado makes. Each function names the page that describes it.

use crate::answer::{RequestKind, plain_word};
use crate::client::{CalendarRequest, CalendarTarget, GoogleCalendar};
use crate::error::CalendarError;
use crate::event::{
    CalendarEvent, EventListQuery, EventMove, EventPage, EventStatus, NewCalendarEvent, TAG_PROPERTY,
    write_fence, write_touch,
};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use recado_domain::calendar::TimeSpan;
use recado_domain::effects::EffectId;
use recado_ports::ports::{Secrets, System};
use reqwest::Method;
use serde_json::{Value, json};

/// Longest time of one question for busy times. Google refuses some 90 days as too long.
const BUSY_SPAN_MAX: SignedDuration = SignedDuration::from_hours(60 * 24);

/// Largest number of pages that are read of a list. A page may hold fewer events than asked for, or none.
const PAGES_MAX: usize = 10;

/// Largest number of events that are asked for at once.
const EVENTS_MAX: u16 = 250;

/// Nobody gets a mail of Google's: the customer is told by WhatsApp.
const NO_MAILS: (&str, &str) = ("sendUpdates", "none");

impl<S: Secrets, A: System> GoogleCalendar<S, A> {
    /// Asks when the calendar is busy. Events that are shown as free are not among these times.
    /// <https://developers.google.com/workspace/calendar/api/v3/reference/freebusy/query>
    pub async fn query_busy_times(
        &self,
        target: &CalendarTarget<'_>,
        span: TimeSpan,
    ) -> Result<Vec<TimeSpan>, CalendarError> {
        let mut busy = Vec::new();
        let mut from = span.from;
        while from < span.to {
            let to = from.saturating_add(BUSY_SPAN_MAX).unwrap_or(span.to).min(span.to);
            let body = json!({
                "timeMin": from.to_string(),
                "timeMax": to.to_string(),
                "timeZone": "UTC",
                "items": [{"id": target.calendar_id}],
            });
            let request = CalendarRequest {
                kind: RequestKind::Question,
                method: Method::POST,
                path: &["freeBusy"],
                query: &[],
                version: None,
                body: Some(body),
            };
            let answer = self.call_api(target.credential, request).await?;
            busy.extend(read_busy_times(&answer, target.calendar_id)?);
            from = to;
        }
        Ok(busy)
    }

    /// Asks for an event. `None`: there never was one with this id. A deleted one may be told as deleted.
    /// <https://developers.google.com/workspace/calendar/api/v3/reference/events/get>
    pub async fn find_event(
        &self,
        target: &CalendarTarget<'_>,
        id: &EffectId,
        zone: &TimeZone,
    ) -> Result<Option<CalendarEvent>, CalendarError> {
        let request = CalendarRequest {
            kind: RequestKind::Question,
            method: Method::GET,
            path: &["calendars", target.calendar_id, "events", id.as_str()],
            query: &[],
            version: None,
            body: None,
        };
        match self.call_api(target.credential, request).await {
            Ok(body) => match CalendarEvent::parse_event(&body, zone) {
                Some(event) if event.id == id.as_str() => Ok(Some(event)),
                _ => Err(CalendarError::unavailable("the answer holds no event")),
            },
            // A calendar that is not there, or no longer shared, is answered in the same way; busy times tell it apart.
            Err(CalendarError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks for an event that was made before. `None`: it was deleted. [`CalendarError::NotFound`]: the calendar is not there, or not
    /// shared any more.
    pub async fn find_present_event(
        &self,
        target: &CalendarTarget<'_>,
        id: &EffectId,
    ) -> Result<Option<CalendarEvent>, CalendarError> {
        let found = self.find_event(target, id, &TimeZone::UTC).await?;
        if found.is_none() {
            self.query_access(target).await?;
        }
        Ok(found.filter(|event| event.status == EventStatus::Present && !event.is_fence))
    }

    /// Makes an event under an id of ours, once. [`CalendarError::AlreadyExists`]: look at what lies there.
    /// <https://developers.google.com/workspace/calendar/api/v3/reference/events/insert>
    pub async fn insert_event(
        &self,
        target: &CalendarTarget<'_>,
        event: &NewCalendarEvent,
    ) -> Result<CalendarEvent, CalendarError> {
        self.insert_body(target, &event.id, event.to_request_body()).await
    }

    /// Makes a fence under an id. A late request to make an event under that id then finds it taken.
    pub async fn insert_fence(
        &self,
        target: &CalendarTarget<'_>,
        id: &EffectId,
    ) -> Result<CalendarEvent, CalendarError> {
        self.insert_body(target, id, write_fence(id)).await
    }

    /// Moves an event, if it is still in the version `etag`. The event then carries the entry's id.
    /// <https://developers.google.com/workspace/calendar/api/v3/reference/events/patch>
    pub async fn move_event(
        &self,
        target: &CalendarTarget<'_>,
        id: &EffectId,
        etag: &str,
        new: &EventMove,
    ) -> Result<CalendarEvent, CalendarError> {
        self.patch_event(target, id, etag, new.to_request_body()).await
    }

    /// Gives an event another version, if it is still in the version `etag`. A late request that names `etag` then does
    /// nothing.
    pub async fn touch_event(
        &self,
        target: &CalendarTarget<'_>,
        id: &EffectId,
        etag: &str,
        nonce: &str,
    ) -> Result<CalendarEvent, CalendarError> {
        self.patch_event(target, id, etag, write_touch(nonce)).await
    }

    /// Deletes an event, if it is still in the version `etag`.
    /// <https://developers.google.com/workspace/calendar/api/v3/reference/events/delete>
    pub async fn delete_event(
        &self,
        target: &CalendarTarget<'_>,
        id: &EffectId,
        etag: &str,
    ) -> Result<(), CalendarError> {
        let request = CalendarRequest {
            kind: RequestKind::Action,
            method: Method::DELETE,
            path: &["calendars", target.calendar_id, "events", id.as_str()],
            query: &[NO_MAILS],
            version: Some(checked_version(etag)?),
            body: None,
        };
        self.call_api(target.credential, request).await.map(drop)
    }

    /// Lists events, by their begin. Fences and deleted events are left out.
    /// <https://developers.google.com/workspace/calendar/api/v3/reference/events/list>
    pub async fn list_events(
        &self,
        target: &CalendarTarget<'_>,
        query: &EventListQuery,
        zone: &TimeZone,
    ) -> Result<EventPage, CalendarError> {
        let property = query.tag.as_ref();
        let property = property.map(|tag| format!("{TAG_PROPERTY}={}", tag.as_str()));
        let (from, to) = (query.time.from.to_string(), query.time.to.to_string());
        let limit = query.limit.clamp(1, EVENTS_MAX);
        let count = limit.to_string();
        let mut found = EventPage {
            events: Vec::new(),
            has_more: false,
        };
        let mut page: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let mut parameters = vec![
                ("timeMin", from.as_str()),
                ("timeMax", &to),
                ("singleEvents", "true"),
                ("orderBy", "startTime"),
                ("maxResults", &count),
            ];
            parameters.extend(property.as_deref().map(|tag| ("privateExtendedProperty", tag)));
            parameters.extend(page.as_deref().map(|token| ("pageToken", token)));
            let request = CalendarRequest {
                kind: RequestKind::Question,
                method: Method::GET,
                path: &["calendars", target.calendar_id, "events"],
                query: &parameters,
                version: None,
                body: None,
            };
            let body = self.call_api(target.credential, request).await?;
            let items = body["items"].as_array();
            let items =
                items.ok_or_else(|| CalendarError::unavailable("the answer holds no list of events"))?;
            let events = items
                .iter()
                .filter_map(|item| CalendarEvent::parse_event(item, zone));
            found
                .events
                .extend(events.filter(|event| !event.is_fence && event.time.is_some()));
            page = body["nextPageToken"].as_str().map(str::to_owned);
            if page.is_none() || found.events.len() >= usize::from(limit) {
                break;
            }
        }
        found.has_more = page.is_some() || found.events.len() > usize::from(limit);
        found.events.truncate(usize::from(limit));
        Ok(found)
    }

    async fn insert_body(
        &self,
        target: &CalendarTarget<'_>,
        id: &EffectId,
        body: Value,
    ) -> Result<CalendarEvent, CalendarError> {
        let request = CalendarRequest {
            kind: RequestKind::Action,
            method: Method::POST,
            path: &["calendars", target.calendar_id, "events"],
            query: &[NO_MAILS],
            version: None,
            body: Some(body),
        };
        read_own_event(&self.call_api(target.credential, request).await?, id)
    }

    pub(crate) async fn patch_event(
        &self,
        target: &CalendarTarget<'_>,
        id: &EffectId,
        etag: &str,
        body: Value,
    ) -> Result<CalendarEvent, CalendarError> {
        let request = CalendarRequest {
            kind: RequestKind::Action,
            method: Method::PATCH,
            path: &["calendars", target.calendar_id, "events", id.as_str()],
            query: &[NO_MAILS],
            version: Some(checked_version(etag)?),
            body: Some(body),
        };
        read_own_event(&self.call_api(target.credential, request).await?, id)
    }
}

/// Refuses a version that names none: an empty `If-Match`, or `*`, which fits every version.
fn checked_version(etag: &str) -> Result<&str, CalendarError> {
    let is_version = etag.len() > 1 && etag.bytes().all(|byte| (b'!'..=b'~').contains(&byte));
    is_version
        .then_some(etag)
        .ok_or_else(|| CalendarError::Refused("the version that was read is not known".to_owned()))
}

/// Reads the event of an answer to a request that acted. An answer without it leaves the outcome unknown.
fn read_own_event(body: &Value, id: &EffectId) -> Result<CalendarEvent, CalendarError> {
    CalendarEvent::parse_event(body, &TimeZone::UTC)
        .filter(|event| event.id == id.as_str() && !event.etag.is_empty())
        .ok_or_else(|| CalendarError::Unknown("the answer does not hold the event".to_owned()))
}

fn read_busy_times(answer: &Value, calendar_id: &str) -> Result<Vec<TimeSpan>, CalendarError> {
    let calendars = answer["calendars"].as_object();
    let one = calendars.and_then(|calendars| {
        calendars
            .get(calendar_id)
            .or_else(|| calendars.values().next().filter(|_| calendars.len() == 1))
    });
    let one = one.ok_or_else(|| CalendarError::unavailable("the answer holds no busy times"))?;
    if let Some(error) = one["errors"].as_array().and_then(|errors| errors.first()) {
        return Err(match plain_word(&error["reason"]).as_deref() {
            Some("notFound") => CalendarError::NotFound,
            Some(word @ ("groupTooBig" | "tooManyCalendarsRequested")) => {
                CalendarError::Refused(word.to_owned())
            }
            Some(word) => CalendarError::unavailable(word),
            None => CalendarError::unavailable("an error without a reason"),
        });
    }
    let instant = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let spans = one["busy"].as_array().map(|spans| {
        let read = |span: &Value| {
            let (from, to) = (instant(&span["start"])?, instant(&span["end"])?);
            Some(TimeSpan { from, to })
        };
        spans.iter().map(read).collect::<Option<Vec<_>>>()
    });
    // A time that cannot be read must not count as free.
    spans
        .flatten()
        .ok_or_else(|| CalendarError::unavailable("the answer's busy times cannot be read"))
}
