//! `messages.edited` and `messages.delete`: a message that came before says something else now, or nothing.
//!
//! `messages.edited` carries the notice as its author wrote it: in an edit of the contact's, `key.remoteJid` is the
//! business's own JID (or its lid, which nothing names) and `fromMe` is true. Only the id can be relied on, so what is
//! read here is a [`Inbound::Change`], and the original tells whose it was and in which chat.

use super::Envelope;
use super::chat::{Chat, address, chat_of};
use super::noise::drop_noise;
use super::protocol::{self, Kind};
use crate::json::{instant, scalar, text};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::context::Context;
use recado_domain::event::{EventKind, event_id};
use recado_domain::ids::EventId;
use recado_domain::inbound::{Inbound, InboundMessage, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use serde_json::{Value, json};

const PROVIDER: Provider = crate::evolution::NAME;

/// Fields of a notice that are read again. Others hold keys of WhatsApp's programs.
const KEPT: [&str; 7] = [
    "key",
    "type",
    "editedMessage",
    "timestampMs",
    "ephemeralExpiration",
    "ephemeralSettingTimestamp",
    "status",
];

/// One notice of `messages.edited`, which is sent for every `protocolMessage`, not for edits alone.
pub(super) fn edited(envelope: &Envelope, part: &Value) -> WebhookItem {
    if !protocol::speaks(part) {
        return ignored("notice between programs");
    }
    let (kind, target) = (protocol::kind(part), protocol::target(part));
    let key = part.get("key").unwrap_or(&Value::Null);
    let person = match chat_of(key, envelope.own.as_deref()) {
        Chat::Person(address) => address,
        Chat::Many(what) => return ignored(what),
        Chat::Nobody => return ignored("change without a chat"),
    };
    let id = match (kind, target) {
        (Kind::Disappearing, _) if !is_contact(envelope, key, &person) => {
            return ignored("setting of an unknown chat");
        }
        (Kind::Disappearing, _) => {
            let about = [
                person.as_str(),
                &scalar(part, "ephemeralExpiration").unwrap_or_default(),
                &moment(envelope, part),
            ];
            id_of(envelope, "setting", &about)
        }
        (_, None) => return ignored("change without a target"),
        (Kind::Edit, Some(target)) => {
            let about = [target, &moment(envelope, part), &said(part)];
            id_of(envelope, "edit", &about)
        }
        (Kind::Revoke | Kind::Other, Some(target)) => deletion_id(envelope, target),
    };
    let fields = KEPT
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), part.get(field)?.clone())));
    let place = target
        .filter(|_| kind != Kind::Disappearing)
        .map_or(Some(person), apart);
    item(envelope, id, place, Value::Object(fields.collect()))
}

/// What the queue orders a change by: itself. In the contact's own order it would hold up the message that it is about,
/// should that come later, and everybody else's messages while it waits for it.
fn apart(target: &str) -> Option<ContactAddress> {
    ContactAddress::parse(&format!("{target}@change"))
}

/// One deletion of `messages.delete`: a flat key, or a row of Evolution's database with the key in it.
pub(super) fn deleted(envelope: &Envelope, part: &Value) -> WebhookItem {
    let key = part.get("key").filter(|key| key.is_object()).unwrap_or(part);
    match chat_of(key, envelope.own.as_deref()) {
        Chat::Person(_) => {}
        Chat::Many(what) => return ignored(what),
        Chat::Nobody => return ignored("change without a chat"),
    }
    let Some(target) = text(key, "id") else {
        return ignored("change without a target");
    };
    let id = deletion_id(envelope, target);
    item(envelope, id, apart(target), json!({ "key": key }))
}

fn item(envelope: &Envelope, id: EventId, address: Option<ContactAddress>, mut data: Value) -> WebhookItem {
    drop_noise(&mut data);
    let mut payload = envelope.payload(data);
    if let Some(own) = &envelope.own {
        payload["sender"] = json!(own);
    }
    WebhookItem::Event(WebhookEvent {
        id,
        provider: PROVIDER,
        external: envelope.instance.clone(),
        kind: EventKind::Message,
        address,
        payload,
        lookalike: false,
    })
}

fn ignored(what: &str) -> WebhookItem {
    WebhookItem::Ignored {
        what: what.to_owned(),
    }
}

/// Whether the chat is with that person for certain: not the business itself, nor a lid that may be its own.
fn is_contact(envelope: &Envelope, key: &Value, person: &ContactAddress) -> bool {
    let own = envelope.own.as_deref().and_then(address);
    let from_me = key.get("fromMe").and_then(Value::as_bool) == Some(true);
    own.as_ref() != Some(person) && (!from_me || person.phone().is_some())
}

/// What tells two changes of one message apart that say the same.
fn moment(envelope: &Envelope, part: &Value) -> String {
    let written = |field| part.get(field).and_then(crate::json::integer);
    match written("timestampMs").or_else(|| written("ephemeralSettingTimestamp")) {
        Some(at) => at.to_string(),
        None => envelope.date_time.clone().unwrap_or_default(),
    }
}

fn said(part: &Value) -> String {
    protocol::notice(part).map_or_else(String::new, |content| content.as_text())
}

/// Both events tell of one deletion.
fn deletion_id(envelope: &Envelope, target: &str) -> EventId {
    id_of(envelope, "deletion", &[target])
}

/// Another id than any message has: WhatsApp's hold no line breaks.
fn id_of(envelope: &Envelope, what: &str, about: &[&str]) -> EventId {
    let whole = format!("{what}\n{}", about.join("\n"));
    event_id(PROVIDER, &envelope.instance, EventKind::Message, &whole)
}

/// Reads the payload of either.
pub(super) fn interpret(payload: &Value) -> Inbound {
    let nothing = |what: &str| Inbound::Ignored {
        what: what.to_owned(),
    };
    let none = Value::Null;
    let data = payload.get("data").unwrap_or(&none);
    let key = data.get("key").unwrap_or(&none);
    let deletion = text(payload, "event") == Some("messages.delete");
    let content = if deletion {
        Some(Content::Deletion {
            target: protocol::target(data).map(str::to_owned),
        })
    } else {
        protocol::notice(data)
    };
    let Some(content) = content else {
        return nothing("notice between programs");
    };
    let address = match chat_of(key, text(payload, "sender")) {
        Chat::Person(address) => address,
        Chat::Many(what) => return nothing(what),
        Chat::Nobody => return nothing("change without a chat"),
    };
    let message = Box::new(InboundMessage {
        phone: address.phone(),
        address,
        // Whose sides these are is not certain here.
        also: None,
        name: None,
        // The notice has an id of its own, which Evolution leaves out.
        provider_message_id: None,
        from_me: key.get("fromMe").and_then(Value::as_bool) == Some(true),
        sent_at: instant(data.get("timestampMs")),
        content,
        context: Context::default(),
    });
    match &message.content {
        Content::Edit { target: Some(_), .. } | Content::Deletion { target: Some(_) } => {
            Inbound::Change(message)
        }
        Content::System { .. } => Inbound::Message(message),
        _ => nothing("change without a target"),
    }
}
