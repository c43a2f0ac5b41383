//! The body of a message and what is answered to it, here and by those who pass Meta's bodies on.

use super::super::call::{Call, Refusal, fresh, json, wrong};
use super::super::journal::{Delivered, Journal};
use super::super::shape::{object, only, text};
use super::sends;
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::Timestamp;
use serde_json::{Value, json};

/// The longest `biz_opaque_callback_data`, in characters.
const CALLBACK_MAX: usize = 512;

/// What a body asks for.
pub(in super::super) enum Asked {
    /// A message is to go out.
    Message(Message),
    /// A message of the contact's was read, and whether "typing…" is to be shown.
    Seen { id: String, typing: bool },
}

/// A message as it was asked for.
pub(in super::super) struct Message {
    to: To,
    words: String,
    content: Value,
    callback: String,
}

impl Message {
    /// The provider's id of the file that it shows, if it names one.
    pub(in super::super) fn file(&self) -> Option<&str> {
        self.content["id"].as_str()
    }
}

/// Whom a message goes to.
enum To {
    Phone(String),
    User(String),
}

/// Checks a body for `POST …/messages`.
pub(in super::super) fn read(call: &Call) -> Result<Asked, Refusal> {
    call.check_json()?;
    if call.text("/messaging_product")? != "whatsapp" {
        return wrong("messaging_product is not whatsapp");
    }
    let body = &call.request.body;
    if body.get("status").is_some() {
        return seen(body);
    }
    let kind = call.text("/type")?;
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
    Ok(Asked::Message(Message {
        to: recipient(call)?,
        words,
        content: if kind == "text" {
            Value::Null
        } else {
            body[kind].clone()
        },
        callback: callback.to_owned(),
    }))
}

/// A read mark; "typing…" comes with one or not at all.
fn seen(body: &Value) -> Result<Asked, Refusal> {
    only(
        body,
        &["messaging_product", "status", "message_id", "typing_indicator"],
    )?;
    if body["status"] != "read" {
        return wrong("status is not read");
    }
    let id = text(body, "message_id", 256)?.to_owned();
    let typing = body.get("typing_indicator").is_some();
    if typing && *object(body, "typing_indicator")? != json!({"type": "text"}) {
        return wrong("typing_indicator.type is not text");
    }
    Ok(Asked::Seen { id, typing })
}

/// Checks a file with the fields that must stand beside it, and returns its MIME type.
pub(in super::super) fn file_type(call: &Call) -> Result<String, Refusal> {
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
    let after = body.split_once("name=\"type\"\r\n\r\n");
    let mime_type = after.and_then(|(_, value)| value.split_once("\r\n"));
    match mime_type {
        Some((mime_type, _)) if mime_type.contains('/') => Ok(mime_type.to_owned()),
        _ => wrong("type is no MIME type"),
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

/// Lets the contact's phone have it, and answers with its id.
pub(in super::super) fn accept(journal: &Journal, instance: String, message: Message) -> Response {
    let (contact, to) = match message.to {
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
        instance,
        to,
        text: message.words,
        content: message.content,
        id,
        callback: Some(message.callback),
        at: Timestamp::now(),
        version: 0,
    });
    json(StatusCode::OK, body)
}

/// Meta's error body.
pub(in super::super) fn error(code: u32, message: &str, details: &str) -> Value {
    json!({"error": {
        "message": message,
        "type": "OAuthException",
        "code": code,
        "error_data": {"messaging_product": "whatsapp", "details": details},
        "fbtrace_id": &fresh()[..12],
    }})
}
