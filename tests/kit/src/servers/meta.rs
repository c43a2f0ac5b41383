//! Meta's Graph API: sending, and files to be sent.

mod account;
mod sends;

use super::call::{Call, Refusal, fresh, json, wrong};
use super::journal::{Delivered, Journal};
use super::shape::{object, only, text};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;

/// The longest `biz_opaque_callback_data`, in characters (the same).
const CALLBACK_MAX: usize = 512;

/// The largest file, in bytes.
const FILE_MAX: usize = 100 * 1024 * 1024;

pub(super) fn router(journal: Arc<Journal>) -> Router {
    Router::new()
        .route("/{version}/{phone_number_id}/messages", post(send))
        .route("/{version}/{phone_number_id}/media", post(upload))
        .route("/{version}/{phone_number_id}", get(number))
        .merge(account::routes())
        .layer(DefaultBodyLimit::max(FILE_MAX))
        .fallback(no_route)
        .method_not_allowed_fallback(no_route)
        .with_state(journal)
}

/// The number itself, as a token is tried by reading it.
async fn number(Path((version, phone_number_id)): Path<(String, String)>, call: Call) -> Response {
    let bearer = call
        .header("authorization")
        .and_then(|header| header.strip_prefix("Bearer "));
    let read = call
        .check_credential(bearer.filter(|token| !token.trim().is_empty()), "no bearer token")
        .and_then(|()| check_version(&version));
    match read {
        Ok(()) => json(StatusCode::OK, json!({"id": phone_number_id})),
        Err(refusal) => refuse(&call, &refusal),
    }
}

/// Whom a message goes to.
enum To {
    Phone(String),
    User(String),
}

struct Text {
    phone_number_id: String,
    to: To,
    words: String,
    content: Value,
    callback: String,
}

async fn send(Path((version, phone_number_id)): Path<(String, String)>, call: Call) -> Response {
    let text = match read(&version, phone_number_id, &call) {
        Ok(text) => text,
        Err(refusal) => return refuse(&call, &refusal),
    };
    call.perform(move |journal, _| accept(journal, text)).await
}

fn read(version: &str, phone_number_id: String, call: &Call) -> Result<Text, Refusal> {
    let bearer = call
        .header("authorization")
        .and_then(|header| header.strip_prefix("Bearer "));
    call.check_credential(bearer.filter(|token| !token.trim().is_empty()), "no bearer token")?;
    call.check_json()?;
    check_version(version)?;
    if call.text("/messaging_product")? != "whatsapp" {
        return wrong("messaging_product is not whatsapp");
    }
    let kind = call.text("/type")?;
    let body = &call.request.body;
    let known = [
        "messaging_product",
        "recipient_type",
        "to",
        "recipient",
        "type",
        "context",
        "biz_opaque_callback_data",
        kind,
    ];
    only(body, &known)?;
    let words = sends::words(kind, body)?;
    if body.get("context").is_some() {
        if kind == "reaction" {
            return wrong("a reaction has no context");
        }
        let context = object(body, "context")?;
        only(context, &["message_id"])?;
        text(context, "message_id", 256)?;
    }
    // Meta does without; Recado does not: it is the evidence for a send whose answer was lost.
    let callback = call.text("/biz_opaque_callback_data")?;
    if callback.chars().count() > CALLBACK_MAX {
        return wrong("biz_opaque_callback_data is too long");
    }
    Ok(Text {
        phone_number_id,
        to: recipient(call)?,
        words,
        content: if kind == "text" {
            Value::Null
        } else {
            body[kind].clone()
        },
        callback: callback.to_owned(),
    })
}

/// A file, with the fields that must stand beside it.
async fn upload(Path((version, _)): Path<(String, String)>, call: Call) -> Response {
    if let Err(refusal) = check_upload(&version, &call) {
        return refuse(&call, &refusal);
    }
    call.perform(|_, _| json(StatusCode::OK, json!({"id": fresh()[..16].to_owned()})))
        .await
}

fn check_upload(version: &str, call: &Call) -> Result<(), Refusal> {
    let bearer = call
        .header("authorization")
        .and_then(|header| header.strip_prefix("Bearer "));
    call.check_credential(bearer.filter(|token| !token.trim().is_empty()), "no bearer token")?;
    check_version(version)?;
    let kind = call.header("content-type").unwrap_or_default();
    if !kind.starts_with("multipart/form-data; boundary=") {
        return wrong("content-type is not multipart/form-data");
    }
    let body = call.request.body.as_str().unwrap_or_default();
    for field in ["file", "type", "messaging_product"] {
        if !body.contains(&format!("name=\"{field}\"")) {
            return wrong(format!("The parameter {field} is required."));
        }
    }
    Ok(())
}

/// Such as `v24.0`.
fn check_version(version: &str) -> Result<(), Refusal> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbers = version
        .strip_prefix('v')
        .and_then(|numbers| numbers.split_once('.'));
    match numbers {
        Some((major, minor)) if digits(major) && digits(minor) => Ok(()),
        _ => wrong("no version of the Graph API in the path"),
    }
}

/// A phone number in `to`, with its `+` (without it Meta may put the sender's country code before it), or a user id in
/// `recipient`.
fn recipient(call: &Call) -> Result<To, Refusal> {
    let body = &call.request.body;
    match (body.get("to"), body.get("recipient")) {
        (Some(_), None) => {
            let to = call.text("/to")?;
            let digits = to.strip_prefix('+').unwrap_or_default();
            let fine = (7..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            if fine {
                Ok(To::Phone(to.to_owned()))
            } else {
                wrong("to is no phone number with a +")
            }
        }
        (None, Some(_)) => {
            let user = call.text("/recipient")?;
            let fine = user.split_once('.').is_some_and(|(country, id)| {
                country.len() == 2 && country.bytes().all(|b| b.is_ascii_uppercase()) && !id.is_empty()
            });
            if fine {
                Ok(To::User(user.to_owned()))
            } else {
                wrong("recipient is no user id")
            }
        }
        (Some(_), Some(_)) => wrong("to and recipient: which one?"),
        (None, None) => wrong("neither to nor recipient"),
    }
}

fn accept(journal: &Journal, text: Text) -> Response {
    let (contact, to) = match text.to {
        To::Phone(phone) => (
            json!({"input": phone, "wa_id": phone.trim_start_matches('+')}),
            phone,
        ),
        To::User(user) => (json!({"input": user, "user_id": user}), user),
    };
    // As a real one it contains the number in clear, under Base64.
    let id = format!(
        "wamid.{}",
        STANDARD.encode(format!("\u{1d}{to}\u{15}{}", fresh()))
    );
    let body = json!({"messaging_product": "whatsapp", "contacts": [contact], "messages": [{"id": id}]});
    journal.deliver(Delivered {
        instance: text.phone_number_id,
        to,
        text: text.words,
        content: text.content,
        id,
        callback: Some(text.callback),
        at: Timestamp::now(),
        version: 0,
    });
    json(StatusCode::OK, body)
}

async fn no_route(call: Call) -> Response {
    call.violate("no such route");
    json(
        StatusCode::NOT_FOUND,
        error(2500, "Unknown path components", &call.request.path),
    )
}

fn refuse(call: &Call, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::Credential => {
            let body = error(190, "Error validating access token", "");
            json(StatusCode::UNAUTHORIZED, body)
        }
        Refusal::Wrong(what) => {
            call.violate(what);
            json(
                StatusCode::BAD_REQUEST,
                error(100, "(#100) Invalid parameter", what),
            )
        }
    }
}

/// Meta's error body.
fn error(code: u32, message: &str, details: &str) -> Value {
    json!({"error": {
        "message": message,
        "type": "OAuthException",
        "code": code,
        "error_data": {"messaging_product": "whatsapp", "details": details},
        "fbtrace_id": &fresh()[..12],
    }})
}
