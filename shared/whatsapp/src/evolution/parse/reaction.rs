//! Reads `messages.reaction`: a reaction as a message, or as the library writes it.
//!
//! The library writes `{key, reaction: {key, text}}`, where the outer key names the message reacted to. Evolution's own
//! versions report a reaction as `messages.upsert`. Both events of one reaction have one id.

use super::EvolutionEnvelope;
use super::message::build_message_item;
use crate::wire::ReadItem;
use crate::wire::json::parse_integer;
use serde_json::{Value, json};

/// Builds the item for one reaction.
pub(super) fn build_reaction_item(envelope: &EvolutionEnvelope, part: &Value) -> ReadItem {
    match part.get("reaction").filter(|reaction| reaction.is_object()) {
        Some(reaction) => build_message_item(envelope, &convert_to_message(part, reaction)),
        None => build_message_item(envelope, part),
    }
}

/// Converts the library's form to the message that carried the reaction.
fn convert_to_message(part: &Value, reaction: &Value) -> Value {
    let target = part.get("key").unwrap_or(&Value::Null);
    // Without a key of its own, the reaction is known by its target: then its content tells repetitions apart.
    let own = if let Some(own) = reaction.get("key").filter(|key| key.is_object()) {
        own.clone()
    } else {
        let mut chat = target.clone();
        if let Value::Object(fields) = &mut chat {
            fields.remove("id");
            fields.remove("fromMe");
        }
        chat
    };
    let at = reaction.get("senderTimestampMs").and_then(parse_integer);
    json!({
        "key": own,
        "pushName": part.get("pushName"),
        "message": { "reactionMessage": { "key": target, "text": reaction.get("text") } },
        "messageTimestamp": at.map(|at| at / 1000),
    })
}
