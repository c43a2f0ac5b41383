//! The calendars of the stand-in and the events in them.

use super::checks::{BusyQuestion, ListQuestion};
use super::refuse_with;
use crate::servers::call::{fresh, json};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use recado_domain::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest time for which busy times are told.
const BUSY_HOURS_MAX: i64 = 90 * 24;

/// See the module. Everything in it can be asked and set while the server runs.
#[derive(Debug, Default)]
pub struct CalendarBook {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    calendars: BTreeMap<String, BTreeMap<String, Value>>,
    tokens: BTreeSet<String>,
    token_life: Option<i64>,
    token_answers: VecDeque<(u16, Value)>,
    tokens_given: usize,
    versions: u64,
    page_size: Option<usize>,
    role: Option<String>,
}

impl CalendarBook {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an empty calendar that is shared with everybody who has a token.
    pub fn add_calendar(&self, id: &str) {
        self.kept().calendars.entry(id.to_owned()).or_default();
    }

    /// All events of a calendar, deleted ones and fences too, by their ids.
    pub fn events(&self, calendar: &str) -> Vec<Value> {
        let kept = self.kept();
        let events = kept
            .calendars
            .get(calendar)
            .into_iter()
            .flat_map(BTreeMap::values);
        events.cloned().collect()
    }

    /// The events of a calendar that people see as appointments: neither deleted nor fences.
    pub fn appointments(&self, calendar: &str) -> Vec<Value> {
        let events = self.events(calendar).into_iter();
        let is_appointment = |event: &Value| {
            event["status"] != "cancelled" && event["extendedProperties"]["private"]["recadoFence"].is_null()
        };
        events.filter(is_appointment).collect()
    }

    /// A person adds an event from one instant to another; returns its id.
    pub fn add_event(&self, calendar: &str, from: &str, to: &str) -> String {
        let id = format!("p{}", &fresh()[..20]);
        let body = json!({
            "id": id, "summary": "made by a person",
            "start": {"dateTime": from, "timeZone": "UTC"}, "end": {"dateTime": to, "timeZone": "UTC"},
        });
        self.kept().store(calendar, &id, body);
        id
    }

    /// A person changes fields of an event.
    pub fn change_event(&self, calendar: &str, id: &str, fields: &Value) {
        let mut kept = self.kept();
        if let Some(mut event) = kept.event(calendar, id).cloned() {
            merge(&mut event, fields);
            kept.store(calendar, id, event);
        }
    }

    /// A person deletes an event.
    pub fn delete_event(&self, calendar: &str, id: &str) {
        self.kept().cancel(calendar, id);
    }

    /// Tokens from now on live so many seconds, instead of 3599.
    pub fn set_token_life(&self, seconds: i64) {
        self.kept().token_life = Some(seconds);
    }

    /// Refuses all tokens that were given so far.
    pub fn revoke_tokens(&self) {
        self.kept().tokens.clear();
    }

    /// How many tokens were given.
    pub fn tokens_given(&self) -> usize {
        self.kept().tokens_given
    }

    /// The next request for a token gets this answer.
    pub fn next_token_answer(&self, status: u16, body: Value) {
        self.kept().token_answers.push_back((status, body));
    }

    /// Lists hold at most so many events on a page.
    pub fn set_page_size(&self, size: usize) {
        self.kept().page_size = Some(size);
    }

    /// Whoever has a token has this role in all calendars, instead of `writer`.
    pub fn set_role(&self, role: &str) {
        self.kept().role = Some(role.to_owned());
    }

    pub(super) fn take_token_answer(&self) -> Option<(u16, Value)> {
        self.kept().token_answers.pop_front()
    }

    /// Gives a token; returns it with its life in seconds.
    pub(super) fn give_token(&self) -> (String, i64) {
        let token = format!("ya29.{}", fresh());
        let mut kept = self.kept();
        kept.tokens.insert(token.clone());
        kept.tokens_given += 1;
        (token, kept.token_life.unwrap_or(3599))
    }

    pub(super) fn is_token(&self, token: &str) -> bool {
        self.kept().tokens.contains(token)
    }

    pub(super) fn answer_busy(&self, question: &BusyQuestion) -> Response {
        if question.to <= question.from {
            return refuse_with(400, "timeRangeEmpty");
        }
        if question.to.duration_since(question.from).as_hours() > BUSY_HOURS_MAX {
            return refuse_with(400, "timeRangeTooLong");
        }
        let kept = self.kept();
        let mut calendars = Map::new();
        for id in &question.calendars {
            let told = match kept.calendars.get(id) {
                None => json!({"errors": [{"domain": "global", "reason": "notFound"}], "busy": []}),
                Some(events) => json!({"busy": busy_times(events.values(), question)}),
            };
            calendars.insert(id.clone(), told);
        }
        let body = json!({
            "kind": "calendar#freeBusy", "timeMin": question.from.to_string(), "timeMax": question.to.to_string(),
            "calendars": calendars,
        });
        json(StatusCode::OK, body)
    }

    pub(super) fn insert(&self, calendar: &str, body: &Value) -> Response {
        let mut kept = self.kept();
        if !kept.calendars.contains_key(calendar) {
            return refuse_with(404, "notFound");
        }
        let id = body["id"]
            .as_str()
            .map_or_else(|| fresh()[..26].to_owned(), str::to_owned);
        if kept.event(calendar, &id).is_some() {
            // Also if it was deleted.
            return refuse_with(409, "duplicate");
        }
        let mut event = body.clone();
        event["id"] = json!(id);
        json(StatusCode::OK, kept.store(calendar, &id, event))
    }

    pub(super) fn find(&self, calendar: &str, id: &str) -> Response {
        match self.kept().event(calendar, id) {
            None => refuse_with(404, "notFound"),
            Some(event) => json(StatusCode::OK, shown(event)),
        }
    }

    pub(super) fn patch(&self, calendar: &str, id: &str, version: &str, fields: &Value) -> Response {
        let mut kept = self.kept();
        let Some(event) = kept.event(calendar, id) else {
            return refuse_with(404, "notFound");
        };
        if event["etag"] != *version {
            return refuse_with(412, "conditionNotMet");
        }
        let mut event = event.clone();
        merge(&mut event, fields);
        json(StatusCode::OK, kept.store(calendar, id, event))
    }

    pub(super) fn delete(&self, calendar: &str, id: &str, version: &str) -> Response {
        let mut kept = self.kept();
        let Some(event) = kept.event(calendar, id) else {
            return refuse_with(404, "notFound");
        };
        if event["status"] == "cancelled" {
            return refuse_with(410, "deleted");
        }
        if event["etag"] != *version {
            return refuse_with(412, "conditionNotMet");
        }
        kept.cancel(calendar, id);
        StatusCode::NO_CONTENT.into_response()
    }

    pub(super) fn list(&self, calendar: &str, question: &ListQuestion) -> Response {
        let kept = self.kept();
        let Some(events) = kept.calendars.get(calendar) else {
            return refuse_with(404, "notFound");
        };
        let mut found: Vec<&Value> = events.values().filter(|event| question.fits(event)).collect();
        found.sort_by_key(|event| instant(&event["start"]));
        let size = kept.page_size.unwrap_or(250).min(question.limit);
        let rest: Vec<Value> = found.into_iter().skip(question.offset).map(shown).collect();
        let mut body = json!({"kind": "calendar#events", "accessRole": kept.role.as_deref().unwrap_or("writer"), "items": rest.iter().take(size).collect::<Vec<_>>()});
        if rest.len() > size {
            body["nextPageToken"] = json!(format!("page-{}", question.offset + size));
        }
        json(StatusCode::OK, body)
    }
}

impl Kept {
    fn event(&self, calendar: &str, id: &str) -> Option<&Value> {
        self.calendars.get(calendar)?.get(id)
    }

    /// Stores an event in its next version; returns it as it is told.
    fn store(&mut self, calendar: &str, id: &str, mut event: Value) -> Value {
        self.versions += 1;
        event["kind"] = json!("calendar#event");
        event["etag"] = json!(format!("\"{}\"", 3_181_161_784_712_000 + self.versions));
        if event["status"].is_null() {
            event["status"] = json!("confirmed");
        }
        event["updated"] = json!(Timestamp::now().to_string());
        let events = self.calendars.entry(calendar.to_owned()).or_default();
        events.insert(id.to_owned(), event.clone());
        event
    }

    fn cancel(&mut self, calendar: &str, id: &str) {
        if let Some(mut event) = self.event(calendar, id).cloned() {
            event["status"] = json!("cancelled");
            self.store(calendar, id, event);
        }
    }
}

/// An event as it is told. Of a deleted one no more than the id is certain.
fn shown(event: &Value) -> Value {
    if event["status"] == "cancelled" {
        return json!({
            "kind": "calendar#event", "id": event["id"], "etag": event["etag"], "status": "cancelled",
        });
    }
    event.clone()
}

/// Writes the fields of a patch into an event: objects are merged, `null` removes a field.
fn merge(event: &mut Value, fields: &Value) {
    match (event, fields) {
        (Value::Object(event), Value::Object(fields)) => {
            for (name, value) in fields {
                if value.is_null() {
                    event.remove(name);
                } else {
                    merge(event.entry(name.clone()).or_insert(Value::Null), value);
                }
            }
        }
        (event, value) => *event = value.clone(),
    }
}

/// The instant of a begin or an end; a whole day counts in UTC.
pub(super) fn instant(written: &Value) -> Option<Timestamp> {
    let day = || Some(format!("{}T00:00:00Z", written["date"].as_str()?));
    let text = written["dateTime"].as_str().map(str::to_owned).or_else(day)?;
    text.parse().ok()
}

fn busy_times<'a>(events: impl Iterator<Item = &'a Value>, question: &BusyQuestion) -> Vec<Value> {
    let mut spans: Vec<(Timestamp, Timestamp)> = events
        .filter(|event| event["status"] != "cancelled" && event["transparency"] != "transparent")
        .filter_map(|event| Some((instant(&event["start"])?, instant(&event["end"])?)))
        .filter(|(from, to)| *from < question.to && question.from < *to)
        .collect();
    spans.sort_unstable();
    let mut joined: Vec<(Timestamp, Timestamp)> = Vec::new();
    for (from, to) in spans {
        match joined.last_mut() {
            Some(before) if from <= before.1 => before.1 = before.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    let told = joined
        .into_iter()
        .map(|(from, to)| json!({"start": from.to_string(), "end": to.to_string()}));
    told.collect()
}
