//! `history`: what was written before a number of the phone app was connected, in up to three phases of many chunks.
//!
//! Each message becomes an event of its own, with the id that the live message would have: those that came live, too, are
//! known again. A file stands as `media_placeholder` first and comes in a body of its own, under the same id.

use super::{Part, ignored, message};
use crate::json::{integer, list, text};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::WebhookItem;
use serde_json::{Value, json};

/// The code of a business that does not share its history.
const DECLINED: i64 = 2_593_109;

/// All messages of a value, and what is wrong with it.
pub(super) fn items(part: &Part<'_>, external: &ExternalId) -> Vec<WebhookItem> {
    let mut items = Vec::new();
    for chunk in list(part.value.get("history")) {
        items.extend(list(chunk.get("errors")).iter().map(error));
        for thread in list(chunk.get("threads")) {
            let messages = list(thread.get("messages")).iter();
            items.extend(messages.map(|message| past(part, external, message, thread)));
        }
    }
    let files = list(part.value.get("messages")).iter();
    items.extend(files.map(|message| past(part, external, message, &Value::Null)));
    if items.is_empty() {
        items.push(ignored("history without messages"));
    }
    items
}

fn error(error: &Value) -> WebhookItem {
    match error.get("code").and_then(integer) {
        Some(DECLINED) => ignored(format!("history declined {DECLINED}")),
        Some(code) => ignored(format!("history error {}", code.clamp(0, 9_999_999))),
        None => ignored("history error"),
    }
}

/// One message of long ago: with whom the thread is stands at the thread, not at what the business wrote.
fn past(part: &Part<'_>, external: &ExternalId, message: &Value, thread: &Value) -> WebhookItem {
    let with = text(thread, "id");
    let ours = is_ours(part.value, message, with);
    let mut message = message.clone();
    let context = thread.get("context").filter(|context| context.is_object());
    let known = if ours {
        ["to", "to_user_id"]
    } else {
        ["from", "from_user_id"]
    };
    let told = [
        with.or_else(|| context.and_then(|context| text(context, "wa_id"))),
        context.and_then(|context| text(context, "user_id")),
    ];
    for (key, value) in known.into_iter().zip(told) {
        if let Some(value) = value.filter(|_| message.is_object() && text(&message, key).is_none()) {
            message[key] = json!(value);
        }
    }
    message::item(part.speaker.provider, part.value, external, &message, ours)
}

/// Whether the business wrote it: `from` is its own number.
fn is_ours(value: &Value, message: &Value, with: Option<&str>) -> bool {
    let Some(from) = text(message, "from").and_then(message::digits) else {
        return false;
    };
    if with.and_then(message::digits).is_some_and(|with| with == from) {
        return false;
    }
    let own = value
        .get("metadata")
        .and_then(|metadata| text(metadata, "display_phone_number"))
        .and_then(message::digits);
    match own {
        // Brazilian and Mexican numbers may be written with a digit more or less near the beginning.
        Some(own) => own == from || (with.is_some() && tail(&own) == tail(&from)),
        None => with.is_some(),
    }
}

fn tail(digits: &str) -> &str {
    &digits[digits.len().saturating_sub(8)..]
}
