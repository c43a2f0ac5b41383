//! `messages.upsert`, `send.message` and `messages.set`.

use super::Envelope;
use super::chat::{Chat, also_of, chat_of};
use super::content;
use super::context;
use super::noise::drop_noise;
use crate::json::{instant, text};
use recado_domain::event::{EventKind, event_id, event_id_of_body};
use recado_domain::inbound::{Inbound, InboundMessage, WebhookEvent, WebhookItem};
use serde_json::{Value, json};

/// What Evolution calls the author of what the business typed itself, for want of a name (always in Portuguese).
const YOU: &str = "Você";

/// One message as an item.
pub(super) fn item(envelope: &Envelope, part: &Value) -> WebhookItem {
    let ignored = |what: &str| WebhookItem::Ignored {
        what: what.to_owned(),
    };
    let address = match part.get("key").map(|key| chat_of(key, envelope.own.as_deref())) {
        Some(Chat::Person(address)) => address,
        Some(Chat::Many(what)) => return ignored(what),
        Some(Chat::Nobody) | None => return ignored("message without a chat"),
    };
    if !part.get("message").is_some_and(content::says_something) {
        return ignored("message without content");
    }
    let mut data = part.clone();
    drop_noise(&mut data);
    let mut payload = envelope.payload(data);
    if let Some(own) = &envelope.own {
        payload["sender"] = json!(own);
    }
    let (provider, external, kind) = (crate::evolution::NAME, &envelope.instance, EventKind::Message);
    let own_id = part.get("key").and_then(|key| text(key, "id"));
    let id = match own_id {
        Some(id) => event_id(provider, external, kind, id),
        None => event_id_of_body(provider, external, kind, &payload),
    };
    let has_time = envelope.date_time.is_some() || instant(part.get("messageTimestamp")).is_some();
    WebhookItem::Event(WebhookEvent {
        id,
        provider,
        external: external.clone(),
        kind,
        address: Some(address),
        payload,
        lookalike: own_id.is_none() && !has_time,
    })
}

/// Reads a message's payload.
pub(super) fn interpret(payload: &Value) -> Inbound {
    let none = Value::Null;
    let data = payload.get("data").unwrap_or(&none);
    let key = data.get("key").unwrap_or(&none);
    let address = match chat_of(key, text(payload, "sender")) {
        Chat::Person(address) => address,
        Chat::Many(what) => {
            return Inbound::Ignored {
                what: what.to_owned(),
            };
        }
        Chat::Nobody => {
            return Inbound::Ignored {
                what: "message without a chat".to_owned(),
            };
        }
    };
    let Some(message) = data
        .get("message")
        .filter(|message| content::says_something(message))
    else {
        return Inbound::Ignored {
            what: "message without content".to_owned(),
        };
    };
    // What the API sends comes as `send.message`; what is typed on the phone as `messages.upsert` with `fromMe`.
    let own = text(payload, "event") == Some("send.message");
    let from_me = own || key.get("fromMe").and_then(Value::as_bool).unwrap_or(false);
    let id = text(key, "id").map(str::to_owned);
    Inbound::Message(Box::new(InboundMessage {
        phone: address.phone(),
        address,
        also: also_of(key, text(payload, "sender")),
        name: if from_me { None } else { name(data) },
        from_me,
        sent_at: instant(data.get("messageTimestamp")),
        content: content::read(message, id.as_deref()),
        context: context::read(data),
        provider_message_id: id,
    }))
}

/// The author's name. Without one Evolution writes the digits of the address there, or the whole of it.
fn name(data: &Value) -> Option<String> {
    let digits = |name: &str| {
        let user = name.split_once('@').map_or(name, |(user, _server)| user);
        user.bytes().all(|b| b.is_ascii_digit() || b" +-:".contains(&b))
    };
    text(data, "pushName")
        .filter(|name| *name != YOU && !digits(name))
        .map(str::to_owned)
}
