//! Reads `messages[]`, and `message_echoes[]`: messages that the business typed in the phone app of a coexistence
//! number.

use super::{content, context, ignored_item, preference};
use crate::wire::json::{get_text, list_members, parse_timestamp};
use recado_domain::contact::ContactAddress;
use recado_domain::event::{EventKind, derive_event_id, derive_event_id_from_body};
use recado_domain::ids::{EventId, ExternalId};
use recado_domain::inbound::{InboundEvent, InboundMessage, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use serde_json::{Value, json};

/// Builds the item for one message. The payload is `{message, contact, metadata, echo}`.
pub(super) fn build_message_item(
    provider: Provider,
    value: &Value,
    external: &ExternalId,
    message: &Value,
    echo: bool,
) -> WebhookItem {
    if get_text(message, "group_id").is_some() {
        return ignored_item("group message");
    }
    let contact = find_sender(value, message, echo);
    let Some(address) = read_address(message, contact, echo) else {
        return ignored_item("message without a sender");
    };
    let payload = json!({
        "message": message,
        "contact": contact,
        "metadata": { "phone_number_id": external },
        "echo": echo,
    });
    WebhookItem::Event(WebhookEvent {
        id: identify_message(provider, external, message, &payload),
        provider,
        external: external.clone(),
        kind: EventKind::Message,
        address: Some(address),
        payload,
        lookalike: find_message_id(message).is_none() && parse_timestamp(message.get("timestamp")).is_none(),
    })
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

/// Finds the entry of `contacts[]` that `about` names in one of `keys`. If no entry is named, a single entry is
/// returned, unless it certainly is another person.
pub(super) fn find_contact<'a>(value: &'a Value, about: &Value, keys: [&str; 2]) -> Option<&'a Value> {
    let contacts = list_members(value.get("contacts"));
    let named = contacts
        .iter()
        .find(|contact| is_named_contact(contact, about, keys));
    named.or(match contacts {
        [only] => Some(only).filter(|contact| !is_different_contact(contact, about, keys)),
        _ => None,
    })
}

/// Returns `true` if a contact certainly is not the person that `about` names in one of `keys`: both have a user id, or
/// both a phone, and these differ. Only a phone's last eight digits are compared, because Brazilian and Mexican numbers
/// may be written differently as `wa_id`.
fn is_different_contact(contact: &Value, about: &Value, keys: [&str; 2]) -> bool {
    const SUBSCRIBER: usize = 8;
    let (told, known) = (
        keys.map(|key| get_text(about, key)),
        [get_text(contact, "wa_id"), get_text(contact, "user_id")],
    );
    let user = |names: [Option<&str>; 2]| {
        names
            .into_iter()
            .flatten()
            .find(|name| is_user_id(name))
            .map(str::to_owned)
    };
    let end = |names: [Option<&str>; 2]| {
        let phone = names.into_iter().flatten().find_map(parse_phone_digits)?;
        Some(phone[phone.len().saturating_sub(SUBSCRIBER)..].to_owned())
    };
    let differ =
        |one: Option<String>, other: Option<String>| one.is_some() && other.is_some() && one != other;
    differ(user(told), user(known)) || differ(end(told), end(known))
}

/// Returns `true` if `about` names this contact in one of `keys`.
pub(super) fn is_named_contact(contact: &Value, about: &Value, keys: [&str; 2]) -> bool {
    let names = keys.map(|key| get_text(about, key));
    let ids = [get_text(contact, "wa_id"), get_text(contact, "user_id")];
    ids.iter().any(|id| id.is_some() && names.contains(id))
}

fn read_address(message: &Value, contact: Option<&Value>, echo: bool) -> Option<ContactAddress> {
    choose_address(sender_keys(echo).map(|key| get_text(message, key)), contact)
}

/// Chooses the address: the phone if any field has one, else the business-scoped user id. The message's own phone comes
/// first, because every message that shows the number has it; this field and `wa_id` may hold a user id, too.
pub(super) fn choose_address(
    [phone, user]: [Option<&str>; 2],
    contact: Option<&Value>,
) -> Option<ContactAddress> {
    let wa_id = contact.and_then(|contact| get_text(contact, "wa_id"));
    let contact_user = contact.and_then(|contact| get_text(contact, "user_id"));
    let number = [phone, wa_id].into_iter().flatten().find_map(parse_phone_digits);
    let id = || {
        [user, phone, wa_id, contact_user]
            .into_iter()
            .flatten()
            .next()
            .map(str::to_owned)
    };
    ContactAddress::parse(&number.or_else(id)?)
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

/// Returns the digits of a phone number; `None` for any other text. The number may contain `+`, spaces, dashes and
/// brackets.
pub(super) fn parse_phone_digits(raw: &str) -> Option<String> {
    let digits: String = raw.chars().filter(char::is_ascii_digit).collect();
    let plain = raw.chars().all(|c| c.is_ascii_digit() || "+ -()".contains(c));
    (plain && !digits.is_empty()).then_some(digits)
}

/// Returns `true` if `raw` is a business-scoped user id: two letters of a country, a dot, letters and digits (with
/// `ENT.` before them in the id of a parent account).
pub(crate) fn is_user_id(raw: &str) -> bool {
    let Some((country, rest)) = raw.split_once('.') else {
        return false;
    };
    let id = rest.strip_prefix("ENT.").unwrap_or(rest);
    country.len() == 2
        && country.bytes().all(|b| b.is_ascii_uppercase())
        && (1..=128).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Returns the contact's profile name, or else the user name without `@`.
pub(super) fn read_display_name(contact: &Value) -> Option<String> {
    let profile = contact.get("profile")?;
    let username = || get_text(profile, "username").map(|name| name.trim_start_matches('@'));
    get_text(profile, "name")
        .or_else(username)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
}

pub(super) fn interpret_message(payload: &Value) -> InboundEvent {
    if let Some(preference) = preference::interpret_preference(payload) {
        return preference;
    }
    let none = Value::Null;
    let message = payload.get("message").unwrap_or(&none);
    let contact = payload.get("contact").filter(|contact| contact.is_object());
    let from_me = payload.get("echo").and_then(Value::as_bool).unwrap_or(false);
    let Some(address) = read_address(message, contact, from_me) else {
        return InboundEvent::Ignored {
            what: "message without a sender".to_owned(),
        };
    };
    InboundEvent::Message(Box::new(InboundMessage {
        phone: address.phone_number(),
        numberless_identity: find_second_address(message, contact, &address, from_me),
        address,
        name: contact.filter(|_| !from_me).and_then(read_display_name),
        provider_message_id: find_message_id(message).map(str::to_owned),
        from_me,
        sent_at: parse_timestamp(message.get("timestamp")),
        content: content::read_content(message),
        context: context::read_context(message),
    }))
}
