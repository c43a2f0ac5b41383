//! Evolution API, versions 1 and 2: sending, the connection's state, looking messages and their files up.

mod media;
mod sends;
mod setup;

use super::call::{Call, Refusal, digits, fresh, json, wrong};
use super::journal::{ConnectionState, Delivered, Journal};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use recado_domain::Timestamp;
use sends::Wanted;
use serde_json::{Value, json};
use std::sync::Arc;

/// Evolution's page size where the request names none.
const PAGE: usize = 50;

/// The largest body, in bytes.
const BODY_MAX: usize = 136 * 1024 * 1024;

/// From here on it takes a number for a group's (createJid.ts).
const GROUP_DIGITS: usize = 18;

pub(super) fn router(journal: Arc<Journal>) -> Router {
    Router::new()
        .route("/message/{action}/{instance}", post(send))
        .route("/instance/connectionState/{instance}", get(connection_state))
        .route("/chat/findMessages/{instance}", post(find_messages))
        .route("/chat/markMessageAsRead/{instance}", post(mark_read))
        .route("/chat/sendPresence/{instance}", post(send_presence))
        .route("/chat/fetchProfilePictureUrl/{instance}", post(fetch_picture))
        .merge(setup::routes())
        .merge(media::routes())
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .fallback(no_route)
        .method_not_allowed_fallback(no_route)
        .with_state(journal)
}

async fn send(Path((action, instance)): Path<(String, String)>, call: Call) -> Response {
    let read = check_key(&call)
        .and_then(|()| call.check_json())
        .and_then(|()| sends::read(&action, &call));
    let wanted = match read {
        Ok(wanted) => wanted,
        Err(refusal) => return refuse(&call, &refusal),
    };
    call.perform(move |journal, _| accept(journal, instance, wanted))
        .await
}

fn check_key(call: &Call) -> Result<(), Refusal> {
    call.check_credential(call.header("apikey"), "no header apikey")
}

/// A phone in digits (a `+` is stripped), or a whole JID.
fn check_number(number: &str) -> Result<(), Refusal> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match number.split_once('@') {
        Some((user, "s.whatsapp.net" | "lid")) if digits(user) => Ok(()),
        Some(_) => wrong("number is no JID of a contact"),
        None => {
            let plain = number.strip_prefix('+').unwrap_or(number);
            let fine = digits(plain) && (8..GROUP_DIGITS).contains(&plain.len());
            if fine {
                Ok(())
            } else {
                wrong("number is no phone number")
            }
        }
    }
}

fn jid(number: &str) -> String {
    if number.contains('@') {
        number.to_owned()
    } else {
        format!("{}@s.whatsapp.net", number.trim_start_matches('+'))
    }
}

fn accept(journal: &Journal, instance: String, wanted: Wanted) -> Response {
    if journal.connection(&instance) != ConnectionState::Open {
        return error(StatusCode::BAD_REQUEST, &json!(["Error: Connection Closed"]));
    }
    let message = Delivered {
        instance,
        to: wanted.to,
        text: wanted.words,
        content: wanted.message.unwrap_or_default(),
        id: format!("3EB0{}", fresh()[..36].to_uppercase()),
        callback: None,
        at: Timestamp::now(),
        version: wanted.version,
    };
    let stored = stored(&message);
    journal.deliver(message);
    json(StatusCode::CREATED, stored)
}

/// A message as Evolution stores it and answers with it. Version 1 answers with what Baileys made of it, the time as a
/// string.
fn stored(message: &Delivered) -> Value {
    let key = json!({"remoteJid": jid(&message.to), "fromMe": true, "id": message.id});
    let at = message.at.as_second();
    let is_text = message.content.is_null();
    if message.version == 1 {
        let text = json!({"extendedTextMessage": {"text": message.text}});
        return json!({
            "key": key,
            "message": if is_text { &text } else { &message.content },
            "messageTimestamp": at.to_string(),
            "status": "PENDING",
        });
    }
    let text = json!({"conversation": message.text});
    let said = if is_text { &text } else { &message.content };
    let kind = said.as_object().and_then(|said| said.keys().next());
    json!({
        "key": key,
        "pushName": "Você",
        "status": "PENDING",
        "message": said,
        "contextInfo": null,
        "messageType": kind,
        "messageTimestamp": at,
        "instanceId": instance_id(&message.instance),
        "source": "unknown",
    })
}

/// An invented UUID, the same for the same instance.
pub(super) fn instance_id(instance: &str) -> String {
    let hex = digits(instance);
    format!(
        "{}-{}-4{}-8{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..15],
        &hex[15..18],
        &hex[18..30]
    )
}

async fn connection_state(
    State(journal): State<Arc<Journal>>,
    Path(instance): Path<String>,
    call: Call,
) -> Response {
    if let Err(refusal) = check_key(&call) {
        return refuse(&call, &refusal);
    }
    let state = journal.connection(&instance);
    json(
        StatusCode::OK,
        json!({"instance": {"instanceName": instance, "state": state}}),
    )
}

/// A read mark, in the form of version 2.
async fn mark_read(call: Call) -> Response {
    let keyed = || {
        let keys = call.request.body["readMessages"].as_array();
        let whole =
            |key: &Value| key["id"].is_string() && key["remoteJid"].is_string() && key["fromMe"] == false;
        if keys.is_some_and(|keys| !keys.is_empty() && keys.iter().all(whole)) {
            return Ok(());
        }
        wrong("readMessages is no list of keys of messages that came in")
    };
    let checked = check_key(&call)
        .and_then(|()| call.check_json())
        .and_then(|()| keyed());
    match checked {
        Ok(()) => json(
            StatusCode::CREATED,
            json!({"message": "Read messages", "read": "success"}),
        ),
        Err(refusal) => refuse(&call, &refusal),
    }
}

/// “typing…”, in the form of version 2. The real one answers only when it is over; the sender does not wait for that.
async fn send_presence(call: Call) -> Response {
    let whole = || {
        call.text("/presence")?;
        match call.request.body["delay"].as_u64() {
            Some(_) => check_number(call.text("/number")?),
            None => wrong("delay is no number"),
        }
    };
    let checked = check_key(&call)
        .and_then(|()| call.check_json())
        .and_then(|()| whole());
    match checked {
        Ok(()) => json(
            StatusCode::CREATED,
            json!({"presence": call.request.body["presence"]}),
        ),
        Err(refusal) => refuse(&call, &refusal),
    }
}

/// Nobody here shows a picture.
async fn fetch_picture(call: Call) -> Response {
    let checked = check_key(&call)
        .and_then(|()| call.check_json())
        .and_then(|()| check_number(call.text("/number")?));
    match checked {
        Ok(()) => json(
            StatusCode::OK,
            json!({"wuid": call.request.body["number"], "profilePictureUrl": null}),
        ),
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn find_messages(
    State(journal): State<Arc<Journal>>,
    Path(instance): Path<String>,
    call: Call,
) -> Response {
    let checked = check_key(&call).and_then(|()| call.check_json());
    if let Err(refusal) = checked {
        return refuse(&call, &refusal);
    }
    let body = &call.request.body;
    let (sent, bare) = {
        let phone = journal.phone();
        let of_instance: Vec<Delivered> = phone.into_iter().filter(|m| m.instance == instance).collect();
        let bare = of_instance.last().is_some_and(|last| last.version == 1);
        (of_instance, bare)
    };
    let mut found: Vec<Value> = sent
        .iter()
        .rev()
        .filter(|m| fits(m, &body["where"], bare))
        .map(stored)
        .collect();
    found.extend(received(&journal, &instance, &body["where"]));
    // The newest first.
    found.sort_by_key(|record| std::cmp::Reverse(record["messageTimestamp"].as_i64()));
    if bare {
        return json(StatusCode::OK, Value::Array(found));
    }
    let count = |key: &str, usual: usize| {
        let given = body[key].as_u64().and_then(|number| usize::try_from(number).ok());
        given.filter(|number| *number > 0).unwrap_or(usual)
    };
    // `offset` is the page's size.
    let (page, size) = (count("page", 1), count("offset", PAGE));
    let total = found.len();
    let records: Vec<Value> = found
        .into_iter()
        .skip((page - 1).saturating_mul(size))
        .take(size)
        .collect();
    let messages = json!({
        "total": total,
        "pages": total.div_ceil(size),
        "currentPage": page,
        "records": records,
    });
    json(StatusCode::OK, json!({"messages": messages}))
}

/// What came in and is asked for: by time, if both ends are given, and unless what we sent is meant.
fn received(journal: &Journal, instance: &str, wanted: &Value) -> Vec<Value> {
    let end = |name: &str| {
        let text = wanted["messageTimestamp"][name].as_str()?;
        Some(text.parse::<Timestamp>().ok()?.as_second())
    };
    let span = end("gte").zip(end("lte"));
    let mut found = journal.notes().remembered(instance);
    found.reverse();
    found.retain(|record| {
        let at = record["messageTimestamp"].as_i64().unwrap_or_default();
        let jid = &wanted["key"]["remoteJid"];
        span.is_none_or(|(from, to)| (from..=to).contains(&at))
            && wanted["key"]["fromMe"] != true
            && (jid.is_null() || *jid == record["key"]["remoteJid"])
    });
    found
}

/// Whether a message is what is asked for. Version 2 reads the time only if both ends are given, as dates; version 1
/// compares the field with what is given and finds nothing. `fromMe: false` is ignored as a filter.
fn fits(message: &Delivered, wanted: &Value, bare: bool) -> bool {
    let key = &wanted["key"];
    let same = |field: &str, value: &str| key[field].as_str().is_none_or(|wanted| wanted == value);
    let time = &wanted["messageTimestamp"];
    let end = |name: &str| {
        time[name]
            .as_str()
            .and_then(|text| text.parse::<Timestamp>().ok())
    };
    let in_time = match (end("gte"), end("lte")) {
        _ if bare => time.is_null(),
        (Some(from), Some(to)) => (from.as_second()..=to.as_second()).contains(&message.at.as_second()),
        _ => true,
    };
    same("remoteJid", &jid(&message.to)) && same("id", &message.id) && in_time
}

async fn no_route(call: Call) -> Response {
    let what = format!("Cannot {} {}", call.request.method, call.request.path);
    call.violate(&what);
    error(StatusCode::NOT_FOUND, &json!([what]))
}

fn refuse(call: &Call, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::Credential => error(StatusCode::UNAUTHORIZED, &json!("Unauthorized")),
        Refusal::Wrong(what) => {
            call.violate(what);
            // The schema check's list in a list.
            error(StatusCode::BAD_REQUEST, &json!([[format!("instance {what}")]]))
        }
    }
}

/// Evolution's error body.
fn error(status: StatusCode, message: &Value) -> Response {
    let body = json!({
        "status": status.as_u16(),
        "error": status.canonical_reason(),
        "response": {"message": message},
    });
    json(status, body)
}
