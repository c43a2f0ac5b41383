//! The shape of events in requests (<https://developers.google.com/workspace/calendar/api/v3/reference/events>).

use super::checks::{check_instant, check_zone};
use crate::servers::call::{Call, Refusal, wrong};
use crate::servers::shape;
use recado_domain::Timestamp;
use serde_json::Value;

/// The fields that a request may write, of those that Recado could need.
const FIELDS: [&str; 13] = [
    "attendees",
    "colorId",
    "description",
    "end",
    "extendedProperties",
    "id",
    "location",
    "reminders",
    "start",
    "status",
    "summary",
    "transparency",
    "visibility",
];

/// Checks the body of an insert. Recado chooses the id.
pub(super) fn check_new(call: &Call) -> Result<(), Refusal> {
    let body = &call.request.body;
    check_fields(call)?;
    check_id(shape::text(body, "id", 1024)?)?;
    shape::object(body, "start")?;
    shape::object(body, "end")?;
    if body.get("status").is_some_and(|status| status == "cancelled") {
        return wrong("an event that is made is not cancelled");
    }
    Ok(())
}

/// Checks the body of a patch.
pub(super) fn check_patch(call: &Call) -> Result<(), Refusal> {
    if call.request.body.get("id").is_some() {
        return wrong("a patch does not change the id");
    }
    check_fields(call)
}

fn check_fields(call: &Call) -> Result<(), Refusal> {
    call.check_json()?;
    let body = &call.request.body;
    shape::only(body, &FIELDS)?;
    shape::text_if(body, "summary", 1024)?;
    shape::text_if(body, "description", 8192)?;
    shape::text_if(body, "location", 1024)?;
    check_word(body, "transparency", &["opaque", "transparent"])?;
    check_word(
        body,
        "visibility",
        &["default", "public", "private", "confidential"],
    )?;
    check_word(body, "status", &["confirmed", "tentative", "cancelled"])?;
    if body.get("reminders").is_some() {
        let reminders = shape::object(body, "reminders")?;
        shape::only(reminders, &["useDefault", "overrides"])?;
        shape::flag_if(reminders, "useDefault")?;
    }
    check_properties(body)?;
    match (body.get("start"), body.get("end")) {
        (None, None) => Ok(()),
        (Some(start), Some(end)) if check_time(start)? < check_time(end)? => Ok(()),
        (Some(_), Some(_)) => wrong("timeRangeEmpty: the event ends before it begins"),
        _ => wrong("start and end are written together"),
    }
}

/// 5 to 1024 characters of base32hex in small letters.
fn check_id(id: &str) -> Result<(), Refusal> {
    let fine = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'v').contains(&byte);
    if (5..=1024).contains(&id.len()) && id.bytes().all(fine) {
        Ok(())
    } else {
        wrong("the id is not of base32hex, or too short or long")
    }
}

fn check_word(body: &Value, field: &str, words: &[&str]) -> Result<(), Refusal> {
    match body.get(field) {
        None => Ok(()),
        Some(Value::String(word)) if words.contains(&word.as_str()) => Ok(()),
        Some(_) => wrong(format!("{field} is none of {words:?}")),
    }
}

/// An instant with its zone: Recado writes no whole days.
fn check_time(time: &Value) -> Result<Timestamp, Refusal> {
    shape::only(time, &["dateTime", "timeZone"])?;
    check_zone(shape::text(time, "timeZone", 64)?)?;
    check_instant(shape::text(time, "dateTime", 64)?)
}

/// <https://developers.google.com/workspace/calendar/api/guides/extended-properties>: names of at most 44 characters, values of at
/// most 1024, texts all.
fn check_properties(body: &Value) -> Result<(), Refusal> {
    let Some(properties) = body.get("extendedProperties") else {
        return Ok(());
    };
    shape::only(properties, &["private", "shared"])?;
    for kind in ["private", "shared"] {
        let Some(map) = properties.get(kind) else { continue };
        let Some(map) = map.as_object() else {
            return wrong(format!("{kind} is no object"));
        };
        for (name, value) in map {
            let fits = value.is_null() || value.as_str().is_some_and(|text| text.chars().count() <= 1024);
            if name.is_empty() || name.chars().count() > 44 || !fits {
                return wrong(format!("the property {name} is no text, or too long"));
            }
        }
    }
    Ok(())
}
