//! Reads `history`: messages from before a number of the phone app was connected, in up to three phases of many chunks.
//!
//! Each message becomes an event with the same id as the live message, so a message that also came live is recognized. A
//! file is first a `media_placeholder` and then comes in another body, under the same id.

use super::contact::parse_phone_digits;
use super::{MetaChange, message};
use crate::wire::json::{get_text, list_members, parse_integer};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::WebhookItem;
use serde_json::{Value, json};

/// Error code for a business that does not share its history.
const DECLINED: i64 = 2_593_109;

/// Splits a value into items for all its messages and errors.
pub(super) fn split_history(part: &MetaChange<'_>, external: &ExternalId) -> Vec<WebhookItem> {
    let mut items = Vec::new();
    for chunk in list_members(part.value.get("history")) {
        items.extend(list_members(chunk.get("errors")).iter().map(history_error_item));
        for thread in list_members(chunk.get("threads")) {
            let messages = list_members(thread.get("messages")).iter();
            items.extend(messages.map(|message| past_message_item(part, external, message, thread)));
        }
    }
    let files = list_members(part.value.get("messages")).iter();
    items.extend(files.map(|message| past_message_item(part, external, message, &Value::Null)));
    if items.is_empty() {
        items.push(WebhookItem::ignored("history without messages"));
    }
    items
}

fn history_error_item(error: &Value) -> WebhookItem {
    match error.get("code").and_then(parse_integer) {
        Some(DECLINED) => WebhookItem::ignored(format!("history declined {DECLINED}")),
        Some(code) => WebhookItem::ignored(format!("history error {}", code.clamp(0, 9_999_999))),
        None => WebhookItem::ignored("history error"),
    }
}

/// Builds the item for one past message. The other person is named by the thread, not by the messages that the business
/// wrote.
fn past_message_item(
    part: &MetaChange<'_>,
    external: &ExternalId,
    message: &Value,
    thread: &Value,
) -> WebhookItem {
    let with = get_text(thread, "id");
    let ours = is_sent_by_business(part.value, message, with);
    let mut message = message.clone();
    let context = thread.get("context").filter(|context| context.is_object());
    let known = if ours {
        ["to", "to_user_id"]
    } else {
        ["from", "from_user_id"]
    };
    let told = [
        with.or_else(|| context.and_then(|context| get_text(context, "wa_id"))),
        context.and_then(|context| get_text(context, "user_id")),
    ];
    for (key, value) in known.into_iter().zip(told) {
        if let Some(value) = value.filter(|_| message.is_object() && get_text(&message, key).is_none()) {
            message[key] = json!(value);
        }
    }
    let item = message::build_message_item(part.speaker.provider, part.value, external, &message, ours);
    item.unwrap_or_else(WebhookItem::ignored)
}

/// Returns `true` if the business wrote the message: `from` is its own number.
fn is_sent_by_business(value: &Value, message: &Value, with: Option<&str>) -> bool {
    let Some(from) = get_text(message, "from").and_then(parse_phone_digits) else {
        return false;
    };
    if with.and_then(parse_phone_digits).is_some_and(|with| with == from) {
        return false;
    }
    let own = value
        .get("metadata")
        .and_then(|metadata| get_text(metadata, "display_phone_number"))
        .and_then(parse_phone_digits);
    match own {
        // Brazilian and Mexican numbers may have one digit more or less near the beginning.
        Some(own) => own == from || (with.is_some() && subscriber_digits(&own) == subscriber_digits(&from)),
        None => with.is_some(),
    }
}

fn subscriber_digits(digits: &str) -> &str {
    &digits[digits.len().saturating_sub(8)..]
}
