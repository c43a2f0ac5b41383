//! Events as Recado writes and reads them (<https://developers.google.com/workspace/calendar/api/v3/reference/events>).

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recado_domain::calendar::TimeSpan;
use recado_domain::effects::EffectId;
use serde_json::{Map, Value, json};

/// The private property with the id of the entry that last booked or moved the event.
pub const ENTRY_PROPERTY: &str = "recadoEntry";

/// The private property that marks a fence.
pub const FENCE_PROPERTY: &str = "recadoFence";

/// The private property by which a customer's appointments are found.
pub const TAG_PROPERTY: &str = "recadoTag";

/// The private property that is only written so that the event gets another version.
pub(crate) const TOUCH_PROPERTY: &str = "recadoTouch";

/// The private property of an appointment that the customer confirmed.
pub(crate) const CONFIRMED_PROPERTY: &str = "recadoConfirmed";

/// The begin of the title of an appointment that the customer confirmed.
const CONFIRMED_MARK: &str = "\u{2713} ";

/// Begin of every fence: no appointment lies there.
const FENCE_BEGIN: &str = "2000-01-01T00:00:00Z";
const FENCE_END: &str = "2000-01-01T00:15:00Z";

/// A word by which events are found again, such as the id of a thread: 1 to 200 letters, digits, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventTag(String);

impl EventTag {
    /// Checks the word. It must be no name and no number of a person: everybody who sees the calendar's data sees it.
    pub fn parse_tag(text: &str) -> Option<Self> {
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_tag = (1..=200).contains(&text.len()) && text.bytes().all(fine);
        is_tag.then(|| Self(text.to_owned()))
    }

    /// Returns the word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An event that shall be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCalendarEvent {
    /// The id, which is also the id of the entry.
    pub id: EffectId,
    /// Begin and end, without buffers.
    pub time: TimeSpan,
    /// IANA time zone in which the calendar shows it.
    pub time_zone: String,
    /// The title.
    pub summary: String,
    /// More text.
    pub description: Option<String>,
    /// The word by which it is found again.
    pub tag: EventTag,
}

/// A new time for an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventMove {
    /// Begin and end, without buffers.
    pub time: TimeSpan,
    /// IANA time zone in which the calendar shows it.
    pub time_zone: String,
    /// The id of the entry that moves it.
    pub entry: EffectId,
}

/// The state of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    /// The event is there.
    Present,
    /// The event was deleted. Only its id is certain to be told.
    Deleted,
}

/// An event as the calendar tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarEvent {
    /// The id.
    pub id: String,
    /// The version, as it is written into `If-Match`.
    pub etag: String,
    /// The state.
    pub status: EventStatus,
    /// Begin and end. A whole day counts in the zone that the caller names. `None`: it is not told, as of deleted events.
    pub time: Option<TimeSpan>,
    /// The title.
    pub summary: Option<String>,
    /// The id of the entry that last booked or moved it.
    pub entry: Option<String>,
    /// The word by which it is found again.
    pub tag: Option<String>,
    /// `true` if it is a fence.
    pub is_fence: bool,
    /// `true` if it is shown as free: it takes no time.
    pub is_free: bool,
}

/// A question for events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventListQuery {
    /// The word that they were made with; `None`: all events.
    pub tag: Option<EventTag>,
    /// Events that end after this begin and begin before this end.
    pub time: TimeSpan,
    /// Largest number of events, 1 to 250.
    pub limit: u16,
}

/// The events that were found, by their begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// The events.
    pub events: Vec<CalendarEvent>,
    /// `true` if there are more.
    pub has_more: bool,
}

impl NewCalendarEvent {
    pub(crate) fn to_request_body(&self) -> Value {
        let mut body = json!({
            "id": self.id.as_str(),
            "summary": self.summary,
            "start": write_time(self.time.from, &self.time_zone),
            "end": write_time(self.time.to, &self.time_zone),
            "extendedProperties": {"private": {
                ENTRY_PROPERTY: self.id.as_str(),
                TAG_PROPERTY: self.tag.as_str(),
            }},
        });
        if let Some(description) = &self.description {
            body["description"] = json!(description);
        }
        body
    }
}

impl EventMove {
    /// Writes the fields that change. A patch leaves the others as they are.
    pub(crate) fn to_request_body(&self) -> Value {
        json!({
            "start": write_time(self.time.from, &self.time_zone),
            "end": write_time(self.time.to, &self.time_zone),
            "extendedProperties": {"private": {ENTRY_PROPERTY: self.entry.as_str()}},
        })
    }
}

/// Writes a fence: a marked event in the far past, which takes no time and reminds nobody.
pub(crate) fn write_fence(id: &EffectId) -> Value {
    json!({
        "id": id.as_str(),
        "summary": "Recado: please leave this event alone",
        "start": {"dateTime": FENCE_BEGIN, "timeZone": "UTC"},
        "end": {"dateTime": FENCE_END, "timeZone": "UTC"},
        "transparency": "transparent",
        "visibility": "private",
        "reminders": {"useDefault": false},
        "extendedProperties": {"private": {FENCE_PROPERTY: "1"}},
    })
}

/// Writes a change that gives the event another version, and nothing else.
pub(crate) fn write_touch(nonce: &str) -> Value {
    json!({"extendedProperties": {"private": {TOUCH_PROPERTY: nonce}}})
}

/// Writes a change that shows people whether the customer confirmed: by the begin of the title, and by a private property.
pub(crate) fn write_confirmation(summary: &str, is_confirmed: bool) -> Value {
    let plain = summary.strip_prefix(CONFIRMED_MARK).unwrap_or(summary);
    let (title, property) = if is_confirmed {
        (format!("{CONFIRMED_MARK}{plain}"), json!("1"))
    } else {
        (plain.to_owned(), Value::Null)
    };
    json!({"summary": title, "extendedProperties": {"private": {CONFIRMED_PROPERTY: property}}})
}

fn write_time(at: Timestamp, zone: &str) -> Value {
    json!({"dateTime": at.to_string(), "timeZone": zone})
}

impl CalendarEvent {
    /// Reads an event. `None`: the body is not one.
    pub(crate) fn parse_event(body: &Value, zone: &TimeZone) -> Option<Self> {
        let text = |name: &str| body[name].as_str().map(str::to_owned);
        let none = Map::new();
        let private = body["extendedProperties"]["private"].as_object().unwrap_or(&none);
        let property = |name: &str| private.get(name).and_then(Value::as_str).map(str::to_owned);
        let time = read_time(&body["start"], zone)
            .zip(read_time(&body["end"], zone))
            .map(|(from, to)| TimeSpan { from, to });
        Some(Self {
            id: text("id").filter(|id| !id.is_empty())?,
            etag: text("etag").unwrap_or_default(),
            status: match body["status"].as_str() {
                Some("cancelled") => EventStatus::Deleted,
                _ => EventStatus::Present,
            },
            time,
            summary: text("summary"),
            entry: property(ENTRY_PROPERTY),
            tag: property(TAG_PROPERTY),
            is_fence: private.contains_key(FENCE_PROPERTY),
            is_free: body["transparency"].as_str() == Some("transparent"),
        })
    }
}

/// Reads a time of an event: an instant, or the begin of a day in `zone`.
fn read_time(written: &Value, zone: &TimeZone) -> Option<Timestamp> {
    if let Some(at) = written["dateTime"].as_str() {
        return at.parse().ok();
    }
    let date: Date = written["date"].as_str()?.parse().ok()?;
    zone.to_timestamp(date.at(0, 0, 0, 0)).ok()
}
