//! Checks of requests against the pages of the API's reference.

use super::book::instant;
use crate::servers::call::{Call, Refusal, wrong};
use crate::servers::shape;
use recado_domain::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

pub(super) type Parameters = BTreeMap<String, String>;

/// Parameters of every method (<https://developers.google.com/workspace/calendar/api/v3/reference/query-parameters>).
const EVERYWHERE: [&str; 6] = ["alt", "fields", "key", "prettyPrint", "quotaUser", "userIp"];

/// Parameters of insert and patch.
pub(super) const ACTING: [&str; 5] = [
    "conferenceDataVersion",
    "maxAttendees",
    "sendNotifications",
    "sendUpdates",
    "supportsAttachments",
];

/// Parameters of list that are known here.
pub(super) const LISTING: [&str; 10] = [
    "maxResults",
    "orderBy",
    "pageToken",
    "privateExtendedProperty",
    "q",
    "showDeleted",
    "singleEvents",
    "timeMax",
    "timeMin",
    "timeZone",
];

/// A question for busy times.
#[derive(Debug)]
pub(super) struct BusyQuestion {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) calendars: Vec<String>,
}

/// A question for a list of events.
#[derive(Debug)]
pub(super) struct ListQuestion {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    property: Option<(String, String)>,
    show_deleted: bool,
    pub(super) limit: usize,
    pub(super) offset: usize,
}

/// Reads the query. Each parameter is known, and comes once.
pub(super) fn check_query(query: Option<&str>, known: &[&str]) -> Result<Parameters, Refusal> {
    let mut found = Parameters::new();
    for pair in query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
    {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name)?, decode(value)?);
        if !known.contains(&name.as_str()) && !EVERYWHERE.contains(&name.as_str()) {
            return wrong(format!("{name} is no parameter of this method"));
        }
        if found.insert(name.clone(), value).is_some() {
            return wrong(format!("{name} comes twice"));
        }
    }
    Ok(found)
}

/// Decodes `+` and `%XX`.
pub(super) fn decode(text: &str) -> Result<String, Refusal> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                match hex::decode(&digits) {
                    Ok(decoded) if decoded.len() == 1 => decoded[0],
                    _ => return wrong("a % without two digits"),
                }
            }
            other => other,
        });
    }
    String::from_utf8(bytes).or_else(|_| wrong("a query that is no UTF-8"))
}

/// Who gets a mail is said. Recado promises that nobody does.
pub(super) fn check_mails(query: &Parameters) -> Result<(), Refusal> {
    match query.get("sendUpdates").map(String::as_str) {
        Some("none") => Ok(()),
        Some("all" | "externalOnly") => wrong("sendUpdates would send mails"),
        Some(_) => wrong("sendUpdates is none of all, externalOnly and none"),
        None => wrong("sendUpdates is missing"),
    }
}

/// The version that a change names. Recado promises to name one.
pub(super) fn check_version(call: &Call) -> Result<String, Refusal> {
    match call.header("if-match") {
        None => wrong("no If-Match"),
        Some(tag) if tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"') => Ok(tag.to_owned()),
        Some(_) => wrong("If-Match holds no version"),
    }
}

/// <https://developers.google.com/workspace/calendar/api/v3/reference/freebusy/query>
pub(super) fn check_busy(call: &Call) -> Result<BusyQuestion, Refusal> {
    call.check_json()?;
    let body = &call.request.body;
    shape::only(
        body,
        &[
            "timeMin",
            "timeMax",
            "timeZone",
            "groupExpansionMax",
            "calendarExpansionMax",
            "items",
        ],
    )?;
    let mut calendars = Vec::new();
    for item in shape::list(body, "items", 1, 50)? {
        shape::only(item, &["id"])?;
        calendars.push(shape::text(item, "id", 1024)?.to_owned());
    }
    if body.get("timeZone").is_some() {
        check_zone(shape::text(body, "timeZone", 64)?)?;
    }
    Ok(BusyQuestion {
        from: check_instant(shape::text(body, "timeMin", 64)?)?,
        to: check_instant(shape::text(body, "timeMax", 64)?)?,
        calendars,
    })
}

/// A time as RFC 3339, with its offset.
pub(super) fn check_instant(text: &str) -> Result<Timestamp, Refusal> {
    match text.parse() {
        Ok(at) if text.len() >= 20 => Ok(at),
        _ => wrong(format!("{text} is no time of RFC 3339 with an offset")),
    }
}

pub(super) fn check_zone(name: &str) -> Result<(), Refusal> {
    match jiff::tz::TimeZone::get(name) {
        Ok(_) => Ok(()),
        Err(_) => wrong(format!("{name} is no IANA time zone")),
    }
}

impl ListQuestion {
    /// <https://developers.google.com/workspace/calendar/api/v3/reference/events/list>
    pub(super) fn read(query: &Parameters) -> Result<Self, Refusal> {
        let flag = |name: &str| match query.get(name).map(String::as_str) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => wrong(format!("{name} is no boolean")),
        };
        let time = |name: &str| query.get(name).map(|text| check_instant(text)).transpose();
        match query.get("orderBy").map(String::as_str) {
            Some("startTime") if flag("singleEvents")? => {}
            Some("startTime") => return wrong("orderBy=startTime needs singleEvents=true"),
            None | Some("updated") => {}
            Some(_) => return wrong("orderBy is neither startTime nor updated"),
        }
        let limit = match query.get("maxResults").map(|text| text.parse()) {
            None => 250,
            Some(Ok(limit @ 1..=2500)) => limit,
            Some(_) => return wrong("maxResults is no number from 1 to 2500"),
        };
        let offset = match query
            .get("pageToken")
            .map(|text| text.strip_prefix("page-").map(str::parse))
        {
            None => 0,
            Some(Some(Ok(offset))) => offset,
            Some(_) => return wrong("pageToken is none that was given"),
        };
        let property = match query
            .get("privateExtendedProperty")
            .map(|text| text.split_once('='))
        {
            None => None,
            Some(Some((name, value))) if !name.is_empty() => Some((name.to_owned(), value.to_owned())),
            Some(_) => return wrong("privateExtendedProperty is not written as name=value"),
        };
        Ok(Self {
            from: time("timeMin")?,
            to: time("timeMax")?,
            property,
            show_deleted: flag("showDeleted")?,
            limit,
            offset,
        })
    }

    /// Whether an event is in the list.
    pub(super) fn fits(&self, event: &Value) -> bool {
        let (start, end) = (instant(&event["start"]), instant(&event["end"]));
        let has_property =
            |(name, value): &(String, String)| event["extendedProperties"]["private"][name] == **value;
        (self.show_deleted || event["status"] != "cancelled")
            && self.from.is_none_or(|from| end.is_some_and(|end| end > from))
            && self.to.is_none_or(|to| start.is_some_and(|start| start < to))
            && self.property.as_ref().is_none_or(has_property)
    }
}
