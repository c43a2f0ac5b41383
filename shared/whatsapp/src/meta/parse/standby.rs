//! Reads what Meta tells while another program, for example Meta's own agent, holds a contact's thread: copies of the messages
//! (`standby`), changes of the holder (`messaging_handovers`), and messages in fields that are not known.

use super::thread_origin::{CAME, CAME_STANDBY, CAME_UNKNOWN, NO_CONTACT, read_sender};
use super::{MetaChange, message};
use crate::wire::json::{get_scalar_text, get_text, list_members};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::WebhookItem;
use serde_json::{Value, json};

/// Splits a value of `standby` into items: the contact's messages, and those of the program that holds the thread. Its statuses are
/// of messages that are not ours.
pub(super) fn split_standby(part: &MetaChange<'_>, external: &ExternalId) -> Vec<WebhookItem> {
    let inner = part.value.get("standby").unwrap_or(part.value);
    let mut items = split_messages(part, external, inner, CAME_STANDBY);
    for echo in list_members(inner.get("message_echoes")) {
        let sent = flatten_echo(echo);
        let item = message::build_message_item(part.speaker.provider, inner, external, &sent, true);
        items.push(mark_item(item.unwrap_or_else(WebhookItem::ignored), CAME_STANDBY));
    }
    if items.is_empty() {
        items.push(WebhookItem::ignored("standby without messages"));
    }
    items
}

/// Returns the messages of contacts in a change whose field is not known. They are stored, and nobody owes an answer to them.
pub(super) fn split_unknown(part: &MetaChange<'_>, external: &ExternalId) -> Vec<WebhookItem> {
    let nested = || part.value.as_object()?.values().find(|inner| has_messages(inner));
    let inner = if has_messages(part.value) {
        part.value
    } else {
        nested().unwrap_or(&Value::Null)
    };
    split_messages(part, external, inner, CAME_UNKNOWN)
}

/// Returns `true` if some of the items are messages of contacts in a field that is not known.
pub(super) fn came_unknown(items: &[WebhookItem]) -> bool {
    let is_unknown = |item: &WebhookItem| match item {
        WebhookItem::Event(event) => get_text(&event.payload, CAME) == Some(CAME_UNKNOWN),
        _ => false,
    };
    items.iter().any(is_unknown)
}

fn has_messages(value: &Value) -> bool {
    !list_members(value.get("messages")).is_empty()
}

fn split_messages(
    part: &MetaChange<'_>,
    external: &ExternalId,
    inner: &Value,
    came: &str,
) -> Vec<WebhookItem> {
    let messages = list_members(inner.get("messages")).iter();
    let read = messages
        .map(|message| message::build_message_item(part.speaker.provider, inner, external, message, false));
    read.map(|item| mark_item(item.unwrap_or_else(WebhookItem::ignored), came))
        .collect()
}

/// Returns the message that the other program sent, as the parsers of messages read it: its body holds neither id nor time.
fn flatten_echo(echo: &Value) -> Value {
    let mut sent = echo.get("message").unwrap_or(echo).clone();
    if !sent.is_object() {
        return Value::Null;
    }
    for key in ["id", "timestamp"] {
        if let Some(value) = echo.get(key) {
            sent[key] = value.clone();
        }
    }
    if sent.get("to_user_id").is_none()
        && let Some(user) = sent.get("recipient").cloned()
    {
        sent["to_user_id"] = user;
    }
    sent
}

/// Notes in the payload of a message how it came.
fn mark_item(item: WebhookItem, came: &str) -> WebhookItem {
    match item {
        WebhookItem::Event(mut event) => {
            event.payload[CAME] = json!(came);
            WebhookItem::Event(event)
        }
        other => other,
    }
}

/// Splits a value of `messaging_handovers` into its item. The number stands in `recipient`, the contact in `sender`.
pub(super) fn split_handover(part: &MetaChange<'_>, external: &ExternalId) -> Vec<WebhookItem> {
    let value = part.value;
    let Some(address) = read_sender(value) else {
        return vec![WebhookItem::ignored(NO_CONTACT)];
    };
    let (what, at) = (
        get_text(value, "type").unwrap_or_default(),
        get_scalar_text(value, "timestamp").unwrap_or_default(),
    );
    let name = format!("handover:{}:{at}:{what}", address.as_str());
    let payload = json!({ "handover": value, "metadata": { "phone_number_id": external } });
    vec![part.build_note_item(external, &name, address, payload, false)]
}

/// Returns `true` if a change of the holder names no contact. It becomes a notice of the account.
pub(super) fn names_nobody(value: &Value) -> bool {
    read_sender(value).is_none()
}
