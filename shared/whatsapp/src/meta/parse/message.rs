//! Reads `messages[]`, and `message_echoes[]`: messages that the business typed in the phone app of a coexistence
//! number.

use super::contact::{
    choose_address, find_contact, is_named_contact, is_user_id, parse_phone_digits, read_display_name,
};
use super::{call, content, context, preference, thread_origin};
use crate::wire::json::{get_text, parse_timestamp};
use crate::wire::{ReadEvent, ReadItem};
use recado_domain::contact::ContactAddress;
use recado_domain::event::{EventKind, derive_event_id, derive_event_id_from_body};
use recado_domain::ids::{EventId, ExternalId};
use recado_domain::inbound::{InboundEvent, InboundMessage, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use serde_json::{Value, json};

/// The reason why a message is ignored that names no sender.
const NO_SENDER: &str = "message without a sender";

/// Builds the item for one message. The payload is `{message, contact, metadata, echo}`.
pub(super) fn build_message_item(
    provider: Provider,
    value: &Value,
    external: &ExternalId,
    message: &Value,
    echo: bool,
) -> ReadItem {
    if get_text(message, "group_id").is_some() {
        return Err("group message".into());
    }
    let contact = find_sender(value, message, echo);
    let address = read_address(message, contact, echo).ok_or(NO_SENDER)?;
    let payload = json!({
        "message": message,
        "contact": contact,
        "metadata": { "phone_number_id": external },
        "echo": echo,
    });
    Ok(WebhookItem::Event(WebhookEvent {
        id: identify_message(provider, external, message, &payload),
        provider,
        external: external.clone(),
        kind: EventKind::Message,
        address: Some(address),
        payload,
        lookalike: find_message_id(message).is_none() && parse_timestamp(message.get("timestamp")).is_none(),
        file: None,
    }))
}

/// Derives the event id by which a repeated message is recognized: from the message's id, or else from the whole
/// payload.
fn identify_message(provider: Provider, external: &ExternalId, message: &Value, payload: &Value) -> EventId {
    let kind = EventKind::Message;
    match find_message_id(message) {
        Some(id) => derive_event_id(provider, external, kind, id),
        None => derive_event_id_from_body(provider, external, kind, payload),
    }
}

/// Returns the message's id; `None` if the id belongs to another message. An edit or a revocation may have the id of the
/// message that it changes, and the placeholder of a file has the id under which the file comes.
fn find_message_id(message: &Value) -> Option<&str> {
    let about = ["edit", "revoke"]
        .into_iter()
        .find_map(|key| content::read_target_id(message.get(key)?));
    let placeholder = get_text(message, "type") == Some("media_placeholder");
    get_text(message, "id").filter(|id| about.as_deref() != Some(*id) && !placeholder)
}

/// Returns the names of the fields that identify the contact: phone and user id.
fn sender_keys(echo: bool) -> [&'static str; 2] {
    if echo {
        ["to", "to_user_id"]
    } else {
        ["from", "from_user_id"]
    }
}

/// Returns the contact's entry in `contacts[]`; `None` if no entry certainly is the contact's.
fn find_sender<'a>(value: &'a Value, message: &Value, echo: bool) -> Option<&'a Value> {
    let found = find_contact(value, message, sender_keys(echo));
    // An echo comes from the business itself, so an entry that it does not name may be any contact.
    found.filter(|contact| !echo || is_named_contact(contact, message, sender_keys(echo)))
}

fn read_address(message: &Value, contact: Option<&Value>, echo: bool) -> Option<ContactAddress> {
    choose_address(sender_keys(echo).map(|key| get_text(message, key)), contact)
}

/// Returns the user id of the person whose number is `address`, if the message shows both. This link is stored for good,
/// and a contact that the message does not name may be another person. So the contact's id counts only together with
/// this same number, and its number only together with the message's own id.
fn find_second_address(
    message: &Value,
    contact: Option<&Value>,
    address: &ContactAddress,
    echo: bool,
) -> Option<ContactAddress> {
    let [phone, user] = sender_keys(echo).map(|key| get_text(message, key));
    let own = [user, phone].into_iter().flatten().find(|id| is_user_id(id));
    let contacts = || {
        let contact = contact?;
        let number = ContactAddress::parse(&parse_phone_digits(get_text(contact, "wa_id")?)?)?;
        let id = get_text(contact, "user_id").filter(|id| is_user_id(id))?;
        number.is_same_number(address).then_some(id)
    };
    let id = if phone.and_then(parse_phone_digits).is_some() {
        own.or_else(contacts)
    } else {
        contacts().filter(|id| own == Some(*id))
    };
    ContactAddress::parse(id?)
}

pub(super) fn interpret_message(payload: &Value) -> ReadEvent {
    let note = preference::interpret_preference(payload).or_else(|| call::interpret_call(payload));
    if let Some(note) = note {
        return Ok(note);
    }
    if let Some(handover) = payload.get("handover") {
        return thread_origin::interpret_handover(handover);
    }
    let absent = Value::Null;
    let message = payload.get("message").unwrap_or(&absent);
    let contact = payload.get("contact").filter(|contact| contact.is_object());
    let from_me = payload.get("echo").and_then(Value::as_bool).unwrap_or(false);
    let address = read_address(message, contact, from_me).ok_or(NO_SENDER)?;
    let mut read = Box::new(InboundMessage {
        phone: address.phone_number(),
        numberless_identity: find_second_address(message, contact, &address, from_me),
        address,
        name: contact.filter(|_| !from_me).and_then(read_display_name),
        provider_message_id: find_message_id(message).map(str::to_owned),
        from_me,
        sent_at: parse_timestamp(message.get("timestamp")),
        content: content::read_content(message),
        context: context::read_context(message),
        not_owed: None,
        thread: None,
    });
    thread_origin::apply_origin(&mut read, payload);
    Ok(InboundEvent::Message(read))
}
