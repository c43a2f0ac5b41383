//! `user_preferences`: who wants no marketing messages any more, or wants them again.

use super::{MetaChange, ignored_item, message};
use crate::json::{get_scalar_text, get_text, list_members, parse_timestamp, sanitize_label};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, SystemNote};
use recado_domain::context::MessageContext;
use recado_domain::event::{EventKind, derive_event_id};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::{InboundEvent, InboundMessage, WebhookEvent, WebhookItem};
use serde_json::{Value, json};

/// The fields of an entry that name the contact.
const CONTACT_KEYS: [&str; 2] = ["wa_id", "user_id"];

/// Every entry as an item.
pub(super) fn split_preferences(part: &MetaChange<'_>, external: &ExternalId) -> Vec<WebhookItem> {
    let entries = list_members(part.value.get("user_preferences"));
    if entries.is_empty() {
        return vec![ignored_item("user_preferences without entries")];
    }
    entries
        .iter()
        .map(|entry| build_preference_item(part, external, entry))
        .collect()
}

fn build_preference_item(part: &MetaChange<'_>, external: &ExternalId, entry: &Value) -> WebhookItem {
    let contact = find_preference_contact(part.value, entry);
    let Some(address) = read_preference_address(entry, contact) else {
        return ignored_item("preference of nobody");
    };
    let Some(note) = parse_system_note(entry) else {
        let category = get_text(entry, "category").unwrap_or_default();
        return ignored_item(format!("preference {}", sanitize_label(category)));
    };
    let kind = EventKind::Message;
    // It has no id; what it says, of whom and when, is the same in every repetition.
    let when = get_scalar_text(entry, "timestamp").unwrap_or_default();
    let id = format!("preference:{}:{note:?}:{when}", address.as_str());
    WebhookItem::Event(WebhookEvent {
        id: derive_event_id(part.speaker.provider, external, kind, &id),
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
fn find_preference_contact<'a>(value: &'a Value, entry: &Value) -> Option<&'a Value> {
    let nameless = CONTACT_KEYS.iter().all(|key| get_text(entry, key).is_none());
    message::find_contact(value, entry, CONTACT_KEYS)
        .filter(|contact| nameless || message::is_named_contact(contact, entry, CONTACT_KEYS))
}

fn read_preference_address(entry: &Value, contact: Option<&Value>) -> Option<ContactAddress> {
    message::choose_address(CONTACT_KEYS.map(|key| get_text(entry, key)), contact)
}

fn parse_system_note(entry: &Value) -> Option<SystemNote> {
    match (get_text(entry, "category"), get_text(entry, "value")) {
        (Some("marketing_messages") | None, Some("stop")) => Some(SystemNote::MarketingStopped),
        (Some("marketing_messages") | None, Some("resume")) => Some(SystemNote::MarketingResumed),
        _ => None,
    }
}

/// Reads the payload of such an event, if it is one.
pub(super) fn interpret_preference(payload: &Value) -> Option<InboundEvent> {
    let entry = payload.get("preference")?;
    let contact = payload.get("contact").filter(|contact| contact.is_object());
    let (address, what) = (
        read_preference_address(entry, contact)?,
        parse_system_note(entry)?,
    );
    Some(InboundEvent::Message(Box::new(InboundMessage {
        phone: address.phone_number(),
        address,
        numberless_identity: None,
        name: contact.and_then(message::read_display_name),
        provider_message_id: None,
        from_me: false,
        sent_at: parse_timestamp(entry.get("timestamp")),
        content: Content::System { what, text: None },
        context: MessageContext::default(),
    })))
}
