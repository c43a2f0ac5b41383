//! `user_preferences`: who wants no marketing messages any more, or wants them again.

use super::{Part, ignored, message};
use crate::json::{instant, label, list, scalar, text};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, SystemNote};
use recado_domain::context::Context;
use recado_domain::event::{EventKind, event_id};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::{Inbound, InboundMessage, WebhookEvent, WebhookItem};
use serde_json::{Value, json};

/// The fields of an entry that name the contact.
const KEYS: [&str; 2] = ["wa_id", "user_id"];

/// Every entry as an item.
pub(super) fn items(part: &Part<'_>, external: &ExternalId) -> Vec<WebhookItem> {
    let entries = list(part.value.get("user_preferences"));
    if entries.is_empty() {
        return vec![ignored("user_preferences without entries")];
    }
    entries.iter().map(|entry| item(part, external, entry)).collect()
}

fn item(part: &Part<'_>, external: &ExternalId, entry: &Value) -> WebhookItem {
    let contact = contact(part.value, entry);
    let Some(address) = address(entry, contact) else {
        return ignored("preference of nobody");
    };
    let Some(note) = note(entry) else {
        let category = text(entry, "category").unwrap_or_default();
        return ignored(format!("preference {}", label(category)));
    };
    let kind = EventKind::Message;
    // It has no id; what it says, of whom and when, is the same in every repetition.
    let when = scalar(entry, "timestamp").unwrap_or_default();
    let id = format!("preference:{}:{note:?}:{when}", address.as_str());
    WebhookItem::Event(WebhookEvent {
        id: event_id(part.speaker.provider, external, kind, &id),
        provider: part.speaker.provider,
        external: external.clone(),
        kind,
        address: Some(address),
        payload: json!({
            "preference": entry,
            "contact": contact,
            "metadata": { "phone_number_id": external },
        }),
        lookalike: when.is_empty(),
    })
}

/// Who it is about. A contact that the entry does not name may be somebody else, and nobody else's wish is it.
fn contact<'a>(value: &'a Value, entry: &Value) -> Option<&'a Value> {
    let nameless = KEYS.iter().all(|key| text(entry, key).is_none());
    message::contact_of(value, entry, KEYS)
        .filter(|contact| nameless || message::is_named(contact, entry, KEYS))
}

fn address(entry: &Value, contact: Option<&Value>) -> Option<ContactAddress> {
    message::address_of(KEYS.map(|key| text(entry, key)), contact)
}

fn note(entry: &Value) -> Option<SystemNote> {
    match (text(entry, "category"), text(entry, "value")) {
        (Some("marketing_messages") | None, Some("stop")) => Some(SystemNote::MarketingStopped),
        (Some("marketing_messages") | None, Some("resume")) => Some(SystemNote::MarketingResumed),
        _ => None,
    }
}

/// Reads the payload of such an event, if it is one.
pub(super) fn interpret(payload: &Value) -> Option<Inbound> {
    let entry = payload.get("preference")?;
    let contact = payload.get("contact").filter(|contact| contact.is_object());
    let (address, what) = (address(entry, contact)?, note(entry)?);
    Some(Inbound::Message(Box::new(InboundMessage {
        phone: address.phone(),
        address,
        also: None,
        name: contact.and_then(message::name_of),
        provider_message_id: None,
        from_me: false,
        sent_at: instant(entry.get("timestamp")),
        content: Content::System { what, text: None },
        context: Context::default(),
    })))
}
