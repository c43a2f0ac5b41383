//! Reads `user_preferences`: a contact stopped or resumed marketing messages.

use super::{MetaChange, contact};
use crate::wire::ReadItem;
use crate::wire::json::{get_scalar_text, get_text, list_members, sanitize_label};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, SystemNote};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::{InboundEvent, WebhookItem};
use serde_json::{Value, json};

/// Names of the fields of an entry that identify the contact.
const CONTACT_KEYS: [&str; 2] = ["wa_id", "user_id"];

/// Builds one item for each entry.
pub(super) fn split_preferences(part: &MetaChange<'_>, external: &ExternalId) -> Vec<WebhookItem> {
    let entries = list_members(part.value.get("user_preferences"));
    if entries.is_empty() {
        return vec![WebhookItem::ignored("user_preferences without entries")];
    }
    entries
        .iter()
        .map(|entry| build_preference_item(part, external, entry).unwrap_or_else(WebhookItem::ignored))
        .collect()
}

fn build_preference_item(part: &MetaChange<'_>, external: &ExternalId, entry: &Value) -> ReadItem {
    let contact = find_preference_contact(part.value, entry);
    let address = read_preference_address(entry, contact).ok_or("preference of nobody")?;
    let Some(note) = parse_system_note(entry) else {
        let category = get_text(entry, "category").unwrap_or_default();
        return Err(format!("preference {}", sanitize_label(category)).into());
    };
    // An entry has no id. So the event id is made of the preference, the contact and the time. A repetition keeps them.
    let when = get_scalar_text(entry, "timestamp").unwrap_or_default();
    let id = format!("preference:{}:{note:?}:{when}", address.as_str());
    let payload = json!({
        "preference": entry,
        "contact": contact,
        "metadata": { "phone_number_id": external },
    });
    Ok(part.build_note_item(external, &id, address, payload, when.is_empty()))
}

/// Returns the contact that the entry is about. An entry with an address takes only a contact of the same address,
/// because the preference of one person must not be stored for another. An entry without an address takes the only
/// contact of the value.
fn find_preference_contact<'a>(value: &'a Value, entry: &Value) -> Option<&'a Value> {
    let nameless = CONTACT_KEYS.iter().all(|key| get_text(entry, key).is_none());
    contact::find_contact(value, entry, CONTACT_KEYS)
        .filter(|contact| nameless || contact::is_named_contact(contact, entry, CONTACT_KEYS))
}

fn read_preference_address(entry: &Value, contact: Option<&Value>) -> Option<ContactAddress> {
    contact::choose_address(CONTACT_KEYS.map(|key| get_text(entry, key)), contact)
}

fn parse_system_note(entry: &Value) -> Option<SystemNote> {
    match (get_text(entry, "category"), get_text(entry, "value")) {
        (Some("marketing_messages") | None, Some("stop")) => Some(SystemNote::MarketingStopped),
        (Some("marketing_messages") | None, Some("resume")) => Some(SystemNote::MarketingResumed),
        _ => None,
    }
}

/// Interprets the payload of a preference event; `None` for any other payload.
pub(super) fn interpret_preference(payload: &Value) -> Option<InboundEvent> {
    let entry = payload.get("preference")?;
    let contact = payload.get("contact").filter(|contact| contact.is_object());
    let (address, what) = (
        read_preference_address(entry, contact)?,
        parse_system_note(entry)?,
    );
    let content = Content::System { what, text: None };
    Some(contact::build_note_event(address, contact, entry, content))
}
