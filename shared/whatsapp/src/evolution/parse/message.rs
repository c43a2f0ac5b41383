//! Reads `messages.upsert`, `send.message` and `messages.set`.

use super::EvolutionEnvelope;
use super::chat::{ChatPeer, choose_chat_peer, find_linked_identity};
use super::content;
use super::context;
use super::unused_fields::drop_unused_fields;
use super::webhook_file::take_webhook_file;
use crate::wire::json::{get_text, parse_timestamp};
use recado_domain::event::{EventKind, derive_event_id, derive_event_id_from_body};
use recado_domain::inbound::{InboundEvent, InboundMessage, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use serde_json::{Value, json};

/// Name that Evolution gives the author of messages of the business itself (always in Portuguese).
const OWN_AUTHOR_NAME: &str = "Você";

pub(super) fn build_message_item(envelope: &EvolutionEnvelope, part: &Value) -> WebhookItem {
    let ignored = |what: &str| WebhookItem::Ignored {
        what: what.to_owned(),
    };
    let address = match part
        .get("key")
        .map(|key| choose_chat_peer(key, envelope.own_jid.as_deref()))
    {
        Some(ChatPeer::Person(address)) => address,
        Some(ChatPeer::NotDirect(what)) => return ignored(what),
        Some(ChatPeer::Unknown) | None => return ignored("message without a chat"),
    };
    if !part.get("message").is_some_and(content::has_content) {
        return ignored("message without content");
    }
    let mut data = part.clone();
    let file = take_webhook_file(&mut data);
    drop_unused_fields(&mut data);
    let mut payload = envelope.build_payload(data);
    if let Some(own) = &envelope.own_jid {
        payload["sender"] = json!(own);
    }
    let (provider, external, kind) = (Provider::Evolution, &envelope.instance, EventKind::Message);
    let own_id = part.get("key").and_then(|key| get_text(key, "id"));
    let id = match own_id {
        Some(id) => derive_event_id(provider, external, kind, id),
        None => derive_event_id_from_body(provider, external, kind, &payload),
    };
    let has_time = envelope.date_time.is_some() || parse_timestamp(part.get("messageTimestamp")).is_some();
    WebhookItem::Event(WebhookEvent {
        id,
        provider,
        external: external.clone(),
        kind,
        address: Some(address),
        payload,
        lookalike: own_id.is_none() && !has_time,
        file,
    })
}

pub(super) fn interpret_message(payload: &Value) -> InboundEvent {
    let none = Value::Null;
    let data = payload.get("data").unwrap_or(&none);
    let key = data.get("key").unwrap_or(&none);
    let address = match choose_chat_peer(key, get_text(payload, "sender")) {
        ChatPeer::Person(address) => address,
        ChatPeer::NotDirect(what) => {
            return InboundEvent::Ignored {
                what: what.to_owned(),
            };
        }
        ChatPeer::Unknown => {
            return InboundEvent::Ignored {
                what: "message without a chat".to_owned(),
            };
        }
    };
    let Some(message) = data
        .get("message")
        .filter(|message| content::has_content(message))
    else {
        return InboundEvent::Ignored {
            what: "message without content".to_owned(),
        };
    };
    // Messages sent by the API come as `send.message`; messages typed on the phone come as `messages.upsert` with
    // `fromMe`.
    let own = get_text(payload, "event") == Some("send.message");
    let from_me = own || key.get("fromMe").and_then(Value::as_bool).unwrap_or(false);
    let id = get_text(key, "id").map(str::to_owned);
    InboundEvent::Message(Box::new(InboundMessage {
        phone: address.phone_number(),
        address,
        numberless_identity: find_linked_identity(key, get_text(payload, "sender")),
        name: if from_me { None } else { parse_author_name(data) },
        from_me,
        sent_at: parse_timestamp(data.get("messageTimestamp")),
        content: content::parse_content(message, id.as_deref()),
        context: context::parse_context(data),
        provider_message_id: id,
    }))
}

/// Returns the author's name; `None` if it is missing. Evolution then writes the digits of the address, or the whole
/// address, in its place.
fn parse_author_name(data: &Value) -> Option<String> {
    let digits = |name: &str| {
        let user = name.split_once('@').map_or(name, |(user, _server)| user);
        user.bytes().all(|b| b.is_ascii_digit() || b" +-:".contains(&b))
    };
    get_text(data, "pushName")
        .filter(|name| *name != OWN_AUTHOR_NAME && !digits(name))
        .map(str::to_owned)
}
