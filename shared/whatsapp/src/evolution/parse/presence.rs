//! Reads `presence.update`: whether a contact types. The body says nothing of when.

use super::EvolutionEnvelope;
use crate::wire::json::get_text;
use recado_domain::contact::{ChatKind, ContactAddress};
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_domain::typing::{TypingState, TypingUpdate};
use serde_json::Value;

/// Builds an item for each contact that the body names. Groups and words that are not known are left out.
pub(super) fn build_typing_items(envelope: &EvolutionEnvelope) -> Vec<WebhookItem> {
    let presences = envelope.data.get("presences").and_then(Value::as_object);
    let named = presences.into_iter().flatten();
    let updates = named.filter_map(|(jid, presence)| {
        let address = ContactAddress::parse(jid).filter(|chat| chat.chat_kind() == ChatKind::Direct)?;
        Some(TypingUpdate {
            provider: Provider::Evolution,
            external: envelope.instance.clone(),
            address,
            state: read_state(get_text(presence, "lastKnownPresence")?)?,
        })
    });
    updates.map(WebhookItem::Typing).collect()
}

fn read_state(presence: &str) -> Option<TypingState> {
    match presence {
        "composing" | "recording" => Some(TypingState::Typing),
        "paused" | "available" | "unavailable" => Some(TypingState::Paused),
        _ => None,
    }
}
