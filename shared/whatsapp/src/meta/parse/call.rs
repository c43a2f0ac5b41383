//! Reads `calls`: the contact called the business, or a call with it ended. A call of the contact opens the service
//! window. Recado does not take calls.

use super::{MetaChange, contact};
use crate::wire::ReadItem;
use crate::wire::json::{get_scalar_text, get_text, list_members};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, SystemNote};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::{InboundEvent, WebhookItem};
use serde_json::{Value, json};

/// Names of the fields of a call that identify the contact who calls.
const CALLER_KEYS: [&str; 2] = ["from", "from_user_id"];

/// Builds one item for each call.
pub(super) fn split_calls(part: &MetaChange<'_>, external: &ExternalId) -> Vec<WebhookItem> {
    let calls = list_members(part.value.get("calls"));
    if calls.is_empty() {
        return vec![WebhookItem::ignored("calls")];
    }
    calls
        .iter()
        .map(|call| build_call_item(part, external, call).unwrap_or_else(WebhookItem::ignored))
        .collect()
}

fn build_call_item(part: &MetaChange<'_>, external: &ExternalId, call: &Value) -> ReadItem {
    let event = get_text(call, "event").unwrap_or_default();
    if parse_note(call).is_none() {
        return Err("calls".into());
    }
    let contact = contact::find_contact(part.value, call, CALLER_KEYS);
    let (Some(id), Some(address)) = (get_text(call, "id"), read_caller(call, contact)) else {
        return Err("call of nobody".into());
    };
    // The session describes the audio of the call, with network addresses of the person's phone.
    let kept: Value = [
        "id",
        "from",
        "from_user_id",
        "event",
        "timestamp",
        "direction",
        "status",
        "duration",
    ]
    .into_iter()
    .filter_map(|key| Some((key.to_owned(), call.get(key)?.clone())))
    .collect::<serde_json::Map<_, _>>()
    .into();
    let payload = json!({
        "call": kept,
        "contact": contact,
        "metadata": { "phone_number_id": external },
    });
    let name = format!("call:{id}:{event}");
    Ok(part.build_note_item(external, &name, address, payload, false))
}

fn read_caller(call: &Value, contact: Option<&Value>) -> Option<ContactAddress> {
    contact::choose_address(CALLER_KEYS.map(|key| get_text(call, key)), contact)
}

/// Returns the note that a call leaves in the conversation. `None`: the business called, or the event says nothing of the
/// contact.
fn parse_note(call: &Value) -> Option<Content> {
    if get_text(call, "direction")
        .is_some_and(|direction| direction.eq_ignore_ascii_case("business_initiated"))
    {
        return None;
    }
    let (what, text) = match get_text(call, "event")? {
        "connect" => (SystemNote::Called, None),
        "terminate" => (SystemNote::Other, Some(describe_end(call))),
        _ => return None,
    };
    Some(Content::System { what, text })
}

fn describe_end(call: &Value) -> String {
    let seconds = get_scalar_text(call, "duration").and_then(|seconds| seconds.parse::<u64>().ok());
    match seconds {
        Some(seconds) if seconds > 0 => format!("the call ended after {seconds} s"),
        _ => "the call was not answered".to_owned(),
    }
}

/// Interprets the payload of a call's event; `None` for any other payload.
pub(super) fn interpret_call(payload: &Value) -> Option<InboundEvent> {
    let call = payload.get("call")?;
    let contact = payload.get("contact").filter(|contact| contact.is_object());
    let (address, content) = (read_caller(call, contact)?, parse_note(call)?);
    Some(contact::build_note_event(address, contact, call, content))
}
