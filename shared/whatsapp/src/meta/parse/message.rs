//! `messages[]`, and `message_echoes[]`: what the business typed in the phone app of a coexistence number.

use super::{content, context, ignored, preference};
use crate::json::{instant, list, text};
use recado_domain::contact::ContactAddress;
use recado_domain::event::{EventKind, event_id, event_id_of_body};
use recado_domain::ids::{EventId, ExternalId};
use recado_domain::inbound::{Inbound, InboundMessage, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use serde_json::{Value, json};

/// One message as an item. The payload is `{message, contact, metadata, echo}`.
pub(super) fn item(
    provider: Provider,
    value: &Value,
    external: &ExternalId,
    message: &Value,
    echo: bool,
) -> WebhookItem {
    if text(message, "group_id").is_some() {
        return ignored("group message");
    }
    let contact = sender_of(value, message, echo);
    let Some(address) = address(message, contact, echo) else {
        return ignored("message without a sender");
    };
    let payload = json!({
        "message": message,
        "contact": contact,
        "metadata": { "phone_number_id": external },
        "echo": echo,
    });
    WebhookItem::Event(WebhookEvent {
        id: known_by(provider, external, message, &payload),
        provider,
        external: external.clone(),
        kind: EventKind::Message,
        address: Some(address),
        payload,
        lookalike: own_id(message).is_none() && instant(message.get("timestamp")).is_none(),
    })
}

/// By what a message is known again: its id, or else all that it says.
fn known_by(provider: Provider, external: &ExternalId, message: &Value, payload: &Value) -> EventId {
    let kind = EventKind::Message;
    match own_id(message) {
        Some(id) => event_id(provider, external, kind, id),
        None => event_id_of_body(provider, external, kind, payload),
    }
}

/// The message's id, unless it is another message's: an edit or a revocation may name the message that it is about, and
/// the placeholder of a file has the id under which the file comes.
fn own_id(message: &Value) -> Option<&str> {
    let about = ["edit", "revoke"]
        .into_iter()
        .find_map(|key| content::target(message.get(key)?));
    let placeholder = text(message, "type") == Some("media_placeholder");
    text(message, "id").filter(|id| about.as_deref() != Some(*id) && !placeholder)
}

/// The fields of a message that name the contact: its phone and its user id.
fn sender_keys(echo: bool) -> [&'static str; 2] {
    if echo {
        ["to", "to_user_id"]
    } else {
        ["from", "from_user_id"]
    }
}

/// The entry of `contacts[]` that is the sender's.
fn sender_of<'a>(value: &'a Value, message: &Value, echo: bool) -> Option<&'a Value> {
    let found = contact_of(value, message, sender_keys(echo));
    // An echo is from us: a contact that it does not name may be anybody.
    found.filter(|contact| !echo || is_named(contact, message, sender_keys(echo)))
}

/// The entry of `contacts[]` whom `about` names in one of `keys`; the only one, if nothing says that it is somebody else.
pub(super) fn contact_of<'a>(value: &'a Value, about: &Value, keys: [&str; 2]) -> Option<&'a Value> {
    let contacts = list(value.get("contacts"));
    let named = contacts.iter().find(|contact| is_named(contact, about, keys));
    named.or(match contacts {
        [only] => Some(only).filter(|contact| !is_another(contact, about, keys)),
        _ => None,
    })
}

/// Whether a contact is certainly not the one that `about` names in one of `keys`: both have a user id, or both a phone,
/// and they differ. A phone's last eight digits are compared: Brazilian and Mexican numbers may be written in another way
/// as `wa_id`.
fn is_another(contact: &Value, about: &Value, keys: [&str; 2]) -> bool {
    const SUBSCRIBER: usize = 8;
    let (told, known) = (
        keys.map(|key| text(about, key)),
        [text(contact, "wa_id"), text(contact, "user_id")],
    );
    let user = |names: [Option<&str>; 2]| {
        names
            .into_iter()
            .flatten()
            .find(|name| is_user_id(name))
            .map(str::to_owned)
    };
    let end = |names: [Option<&str>; 2]| {
        let phone = names.into_iter().flatten().find_map(digits)?;
        Some(phone[phone.len().saturating_sub(SUBSCRIBER)..].to_owned())
    };
    let differ =
        |one: Option<String>, other: Option<String>| one.is_some() && other.is_some() && one != other;
    differ(user(told), user(known)) || differ(end(told), end(known))
}

/// Whether a contact is the one that `about` names in one of `keys`.
pub(super) fn is_named(contact: &Value, about: &Value, keys: [&str; 2]) -> bool {
    let names = keys.map(|key| text(about, key));
    let ids = [text(contact, "wa_id"), text(contact, "user_id")];
    ids.iter().any(|id| id.is_some() && names.contains(id))
}

fn address(message: &Value, contact: Option<&Value>, echo: bool) -> Option<ContactAddress> {
    address_of(sender_keys(echo).map(|key| text(message, key)), contact)
}

/// The address: the phone if any field knows one, else the business-scoped user id. The message's own phone comes first,
/// because it is there in every message that shows the number; it and `wa_id` may hold a user id, too.
pub(super) fn address_of(
    [phone, user]: [Option<&str>; 2],
    contact: Option<&Value>,
) -> Option<ContactAddress> {
    let wa_id = contact.and_then(|contact| text(contact, "wa_id"));
    let contact_user = contact.and_then(|contact| text(contact, "user_id"));
    let number = [phone, wa_id].into_iter().flatten().find_map(digits);
    let id = || {
        [user, phone, wa_id, contact_user]
            .into_iter()
            .flatten()
            .next()
            .map(str::to_owned)
    };
    ContactAddress::parse(&number.or_else(id)?)
}

/// The user id of the person whose number `address` is, where the message shows both. What is learnt here lasts, and a
/// contact that the message does not name may be somebody else: so the contact's id counts only beside this very number,
/// and its number only beside the message's own id.
fn also(
    message: &Value,
    contact: Option<&Value>,
    address: &ContactAddress,
    echo: bool,
) -> Option<ContactAddress> {
    let [phone, user] = sender_keys(echo).map(|key| text(message, key));
    let own = [user, phone].into_iter().flatten().find(|id| is_user_id(id));
    let contacts = || {
        let contact = contact?;
        let number = ContactAddress::parse(&digits(text(contact, "wa_id")?)?)?;
        let id = text(contact, "user_id").filter(|id| is_user_id(id))?;
        number.is_same_number(address).then_some(id)
    };
    let id = if phone.and_then(digits).is_some() {
        own.or_else(contacts)
    } else {
        contacts().filter(|id| own == Some(*id))
    };
    ContactAddress::parse(id?)
}

/// The digits of a phone number, which may have a `+`, spaces and dashes.
pub(super) fn digits(raw: &str) -> Option<String> {
    let digits: String = raw.chars().filter(char::is_ascii_digit).collect();
    let plain = raw.chars().all(|c| c.is_ascii_digit() || "+ -()".contains(c));
    (plain && !digits.is_empty()).then_some(digits)
}

/// Whether `raw` is a business-scoped user id: two letters of a country, a dot, letters and digits (and `ENT.` before
/// them in a parent's).
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

/// The contact's name for itself; its user name (with or without `@`), where that is all.
pub(super) fn name_of(contact: &Value) -> Option<String> {
    let profile = contact.get("profile")?;
    let username = || text(profile, "username").map(|name| name.trim_start_matches('@'));
    text(profile, "name")
        .or_else(username)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
}

/// Reads a message's payload.
pub(super) fn interpret(payload: &Value) -> Inbound {
    if let Some(preference) = preference::interpret(payload) {
        return preference;
    }
    let none = Value::Null;
    let message = payload.get("message").unwrap_or(&none);
    let contact = payload.get("contact").filter(|contact| contact.is_object());
    let from_me = payload.get("echo").and_then(Value::as_bool).unwrap_or(false);
    let Some(address) = address(message, contact, from_me) else {
        return Inbound::Ignored {
            what: "message without a sender".to_owned(),
        };
    };
    Inbound::Message(Box::new(InboundMessage {
        phone: address.phone(),
        also: also(message, contact, &address, from_me),
        address,
        name: contact.filter(|_| !from_me).and_then(name_of),
        provider_message_id: own_id(message).map(str::to_owned),
        from_me,
        sent_at: instant(message.get("timestamp")),
        content: content::read(message),
        context: context::read(message),
    }))
}
