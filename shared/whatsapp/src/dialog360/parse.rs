//! Reads webhook bodies of both forms. Cloud numbers have Meta's own form. On-premise numbers (old numbers, the sandbox)
//! have the `value` of one Meta change, without `metadata`, `entry` and some fields. The on-premise form is converted
//! into Meta's.

use crate::meta::parse::{CONTENT_FIELDS, WebhookSource, split_root};
use crate::wire::json::{WebhookParseError, parse_integer, parse_json_body};
use jiff::Timestamp;
use recado_domain::ids::ExternalId;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use serde_json::{Map, Value, json};

/// Names of the lists in an on-premise body.
const LISTS: [&str; 4] = ["contacts", "messages", "statuses", "errors"];

/// On-premise error code for a message outside the 24-hour service window.
const ON_PREMISE_WINDOW: i64 = 470;
const WINDOW: i64 = 131_047;

/// Splits a body into items. `instance` is the number in the URL, which has priority over the numbers in the body: an
/// on-premise body has none.
pub fn split_webhook(
    body: &[u8],
    instance: Option<&ExternalId>,
    received_at: Timestamp,
) -> Result<Vec<WebhookItem>, WebhookParseError> {
    let root = match parse_json_body(body)? {
        Value::Object(root) if is_on_premise(&root) => convert_to_meta(root),
        root => root,
    };
    let speaker = WebhookSource {
        provider: Provider::Dialog360,
        external: instance.cloned(),
        trusted: None,
    };
    Ok(split_root(&speaker, &root, received_at))
}

fn is_on_premise(root: &Map<String, Value>) -> bool {
    !root.contains_key("entry") && LISTS.iter().any(|name| root.contains_key(*name))
}

/// Converts an on-premise body into Meta's form.
fn convert_to_meta(mut body: Map<String, Value>) -> Value {
    for_each_member(&mut body, "messages", convert_message);
    for_each_member(&mut body, "statuses", convert_status);
    for_each_member(&mut body, "contacts", convert_contact);
    json!({ "entry": [{ "changes": [{ "field": "messages", "value": body }] }] })
}

fn for_each_member(body: &mut Map<String, Value>, name: &str, change: impl Fn(&mut Map<String, Value>)) {
    let members = match body.get_mut(name) {
        Some(Value::Array(members)) => members.as_mut_slice(),
        Some(one) => std::slice::from_mut(one),
        None => return,
    };
    members
        .iter_mut()
        .filter_map(Value::as_object_mut)
        .for_each(change);
}

fn convert_message(message: &mut Map<String, Value>) {
    rename_field(message, "from_bsuid", "from_user_id");
    if message.get("type").and_then(Value::as_str) != Some("ephemeral") {
        return;
    }
    // A disappearing message gets the type of its content. Without content it keeps the type `ephemeral`, which is
    // unsupported.
    if let Some(kind) = CONTENT_FIELDS
        .into_iter()
        .find(|kind| message.contains_key(*kind))
    {
        message.insert("type".to_owned(), json!(kind));
    }
}

fn convert_contact(contact: &mut Map<String, Value>) {
    rename_field(contact, "bsuid", "user_id");
}

/// Converts a status. Some servers write the recipient only inside `message`.
fn convert_status(status: &mut Map<String, Value>) {
    let inside = status
        .get("message")
        .and_then(|message| message.get("recipient_id"))
        .cloned();
    if let Some(recipient) = inside {
        status.entry("recipient_id").or_insert(recipient);
    }
    let errors = match status.get_mut("errors") {
        Some(Value::Array(errors)) => errors.as_mut_slice(),
        _ => return,
    };
    for error in errors.iter_mut().filter_map(Value::as_object_mut) {
        if error.get("code").and_then(parse_integer) == Some(ON_PREMISE_WINDOW) {
            error.insert("code".to_owned(), json!(WINDOW));
        }
    }
}

/// Renames a field to Meta's name, unless a field of that name is already there.
fn rename_field(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.entry(to).or_insert(value);
    }
}

#[cfg(test)]
mod tests;
