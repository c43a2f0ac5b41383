//! `messages[]`, and `message_echoes[]`: what the business typed in the phone app of a coexistence number.

use super::{content, ignored};
use crate::json::{instant, list, text};
use recado_domain::contact::ContactAddress;
use recado_domain::context::Context;
use recado_domain::event::{EventKind, Provider, event_id, event_id_of_body};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::{Inbound, InboundMessage, WebhookEvent, WebhookItem};
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
    let contact = contact_of(value, message, echo);
    let Some(address) = address(message, contact, echo) else {
        return ignored("message without a sender");
    };
    let payload = json!({
        "message": message,
        "contact": contact,
        "metadata": { "phone_number_id": external },
        "echo": echo,
    });
    let kind = EventKind::Message;
    let id = match text(message, "id") {
        Some(id) => event_id(provider, external, kind, id),
        None => event_id_of_body(provider, external, kind, &payload),
    };
    WebhookItem::Event(WebhookEvent {
        id,
        provider,
        external: external.clone(),
        kind,
        address: Some(address),
        payload,
    })
}

/// The fields of a message that name the contact: its phone and its user id.
fn sender(message: &Value, echo: bool) -> [Option<&str>; 2] {
    if echo {
        [text(message, "to"), text(message, "to_user_id")]
    } else {
        [text(message, "from"), text(message, "from_user_id")]
    }
}

/// The entry of `contacts[]` that is the sender's; the only one, if it names nobody else.
fn contact_of<'a>(value: &'a Value, message: &Value, echo: bool) -> Option<&'a Value> {
    let names = sender(message, echo);
    let contacts = list(value.get("contacts"));
    let ids = |contact: &'a Value| [text(contact, "wa_id"), text(contact, "user_id")];
    let same = |contact: &&'a Value| ids(contact).iter().any(|id| id.is_some() && names.contains(id));
    // Brazilian and Mexican numbers may be written in another way as `wa_id`: a single contact is the sender's all the
    // same.
    contacts.iter().find(same).or(match contacts {
        [only] if !echo => Some(only),
        _ => None,
    })
}

/// The address: the phone if any field knows one, else the business-scoped user id. `from` comes first, because it is there
/// in every message that shows the number; it and `wa_id` may hold a user id, too.
fn address(message: &Value, contact: Option<&Value>, echo: bool) -> Option<ContactAddress> {
    let [from, user] = sender(message, echo);
    let wa_id = contact.and_then(|contact| text(contact, "wa_id"));
    let contact_user = contact.and_then(|contact| text(contact, "user_id"));
    let phone = [from, wa_id].into_iter().flatten().find_map(digits);
    let id = || {
        [user, from, wa_id, contact_user]
            .into_iter()
            .flatten()
            .next()
            .map(str::to_owned)
    };
    ContactAddress::parse(&phone.or_else(id)?)
}

/// The digits of a phone number, which may have a `+`, spaces and dashes.
fn digits(raw: &str) -> Option<String> {
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

/// Reads a message's payload.
pub(super) fn interpret(payload: &Value) -> Inbound {
    let none = Value::Null;
    let message = payload.get("message").unwrap_or(&none);
    let contact = payload.get("contact").filter(|contact| contact.is_object());
    let from_me = payload.get("echo").and_then(Value::as_bool).unwrap_or(false);
    let Some(address) = address(message, contact, from_me) else {
        return Inbound::Ignored {
            what: "message without a sender".to_owned(),
        };
    };
    // Neither says anything to answer: what was revoked stays in the history, and a changed number writes as a new
    // contact.
    if let Some(kind @ ("revoke" | "system")) = text(message, "type") {
        return Inbound::Ignored {
            what: kind.to_owned(),
        };
    }
    let name = contact.and_then(|contact| text(contact.get("profile")?, "name"));
    Inbound::Message(Box::new(InboundMessage {
        phone: address.phone(),
        address,
        name: name.filter(|_| !from_me).map(str::to_owned),
        provider_message_id: text(message, "id").map(str::to_owned),
        from_me,
        sent_at: instant(message.get("timestamp")),
        content: content::read(message),
        context: Context::default(),
    }))
}
