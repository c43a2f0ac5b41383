//! Reads `messages.edited` and `messages.delete`: an earlier message was edited or deleted.
//!
//! `messages.edited` carries the notice as its author wrote it. In an edit by the contact, `key.remoteJid` is the
//! business's own JID (or its lid, which nothing identifies) and `fromMe` is true. Only the id is reliable, so the
//! result is an [`InboundEvent::Change`], and the original message tells who wrote it and in which chat.

use super::EvolutionEnvelope;
use super::chat::{choose_chat_peer, parse_jid};
use super::content::protocol::{self, ProtocolKind};
use super::unused_fields::drop_unused_fields;
use crate::wire::json::{get_scalar_text, get_text, parse_timestamp};
use crate::wire::{ReadEvent, ReadItem};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::context::MessageContext;
use recado_domain::event::{EventKind, derive_event_id};
use recado_domain::ids::EventId;
use recado_domain::inbound::{InboundEvent, InboundMessage, WebhookItem};
use recado_domain::provider::Provider;
use serde_json::{Value, json};

const PROVIDER: Provider = Provider::Evolution;

/// The reasons why a change is ignored: it names no chat, or no message.
const NO_CHAT: &str = "change without a chat";
const NO_TARGET: &str = "change without a target";

/// Fields of a notice that are kept, because they are read later. Other fields contain keys of WhatsApp's programs.
const KEPT_FIELDS: [&str; 7] = [
    "key",
    "type",
    "editedMessage",
    "timestampMs",
    "ephemeralExpiration",
    "ephemeralSettingTimestamp",
    "status",
];

/// Builds the item for one notice of `messages.edited`. Evolution sends this event for every `protocolMessage`, not only
/// for edits.
pub(super) fn build_edit_item(envelope: &EvolutionEnvelope, part: &Value) -> ReadItem {
    if !protocol::has_notice_content(part) {
        return Err("notice between programs".into());
    }
    let (kind, target) = (protocol::parse_protocol_kind(part), protocol::notice_target(part));
    let key = part.get("key").unwrap_or(&Value::Null);
    let person = choose_chat_peer(key, envelope.own_jid.as_deref()).into_person(NO_CHAT)?;
    let id = match (kind, target) {
        (ProtocolKind::Disappearing, _) if !is_certain_contact(envelope, key, &person) => {
            return Err("setting of an unknown chat".into());
        }
        (ProtocolKind::Disappearing, _) => {
            let about = [
                person.as_str(),
                &get_scalar_text(part, "ephemeralExpiration").unwrap_or_default(),
                &change_time_key(envelope, part),
            ];
            change_event_id(envelope, "setting", &about)
        }
        (_, None) => return Err(NO_TARGET.into()),
        (ProtocolKind::Edit, Some(target)) => {
            let about = [target, &change_time_key(envelope, part), &notice_text(part)];
            change_event_id(envelope, "edit", &about)
        }
        (ProtocolKind::Revoke | ProtocolKind::Other, Some(target)) => deletion_id(envelope, target),
    };
    let fields = KEPT_FIELDS
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), part.get(field)?.clone())));
    let place = target
        .filter(|_| kind != ProtocolKind::Disappearing)
        .map_or(Some(person), address_of_change);
    let data = Value::Object(fields.collect());
    Ok(build_change_item(envelope, id, place, data))
}

/// Returns the address by which the queue orders a change: one of its own, made of the target's id. In the contact's own
/// FIFO group the change would wait for the message that it is about and block this message, if it comes later, and all
/// messages of the contact.
pub(super) fn address_of_change(target: &str) -> Option<ContactAddress> {
    ContactAddress::parse(&format!("{target}@change"))
}

/// Builds the item for one deletion of `messages.delete`: a flat key, or a row of Evolution's database with the key in
/// it.
pub(super) fn build_deletion_item(envelope: &EvolutionEnvelope, part: &Value) -> ReadItem {
    let key = part.get("key").filter(|key| key.is_object()).unwrap_or(part);
    choose_chat_peer(key, envelope.own_jid.as_deref()).into_person(NO_CHAT)?;
    let target = get_text(key, "id").ok_or(NO_TARGET)?;
    let id = deletion_id(envelope, target);
    let (place, data) = (address_of_change(target), json!({ "key": key }));
    Ok(build_change_item(envelope, id, place, data))
}

fn build_change_item(
    envelope: &EvolutionEnvelope,
    id: EventId,
    address: Option<ContactAddress>,
    mut data: Value,
) -> WebhookItem {
    drop_unused_fields(&mut data);
    let payload = envelope.build_message_payload(data);
    WebhookItem::Event(envelope.build_event(EventKind::Message, id, address, payload))
}

/// Returns `true` if the chat is certainly with that person. The address must not be the business itself, nor a lid that
/// may belong to the business.
fn is_certain_contact(envelope: &EvolutionEnvelope, key: &Value, person: &ContactAddress) -> bool {
    let own = envelope.own_jid.as_deref().and_then(parse_jid);
    let from_me = key.get("fromMe").and_then(Value::as_bool) == Some(true);
    own.as_ref() != Some(person) && (!from_me || person.phone_number().is_some())
}

/// Returns a text that distinguishes two changes of one message with the same content: their time, as far as it is
/// known.
fn change_time_key(envelope: &EvolutionEnvelope, part: &Value) -> String {
    let written = |field| part.get(field).and_then(crate::wire::json::parse_integer);
    match written("timestampMs").or_else(|| written("ephemeralSettingTimestamp")) {
        Some(at) => at.to_string(),
        None => envelope.date_time.clone().unwrap_or_default(),
    }
}

fn notice_text(part: &Value) -> String {
    protocol::parse_notice(part).map_or_else(String::new, |content| content.render_text())
}

/// Returns the event id of a deletion, the same for both events that report it.
fn deletion_id(envelope: &EvolutionEnvelope, target: &str) -> EventId {
    change_event_id(envelope, "deletion", &[target])
}

/// Derives an event id that no message can have: WhatsApp's message ids contain no line breaks.
fn change_event_id(envelope: &EvolutionEnvelope, what: &str, about: &[&str]) -> EventId {
    let whole = format!("{what}\n{}", about.join("\n"));
    derive_event_id(PROVIDER, &envelope.instance, EventKind::Message, &whole)
}

/// Interprets the payload of a `messages.edited` or `messages.delete` event.
pub(super) fn interpret_change(payload: &Value) -> ReadEvent {
    let none = Value::Null;
    let data = payload.get("data").unwrap_or(&none);
    let key = data.get("key").unwrap_or(&none);
    let deletion = get_text(payload, "event") == Some("messages.delete");
    let content = if deletion {
        Some(Content::Deletion {
            target: protocol::notice_target(data).map(str::to_owned),
        })
    } else {
        protocol::parse_notice(data)
    };
    let content = content.ok_or("notice between programs")?;
    let address = choose_chat_peer(key, get_text(payload, "sender")).into_person(NO_CHAT)?;
    let message = Box::new(InboundMessage {
        phone: address.phone_number(),
        address,
        // The notice does not reliably tell whose identity it carries.
        numberless_identity: None,
        name: None,
        // The notice has an id of its own, but Evolution leaves it out.
        provider_message_id: None,
        from_me: key.get("fromMe").and_then(Value::as_bool) == Some(true),
        sent_at: parse_timestamp(data.get("timestampMs")),
        content,
        context: MessageContext::default(),
        not_owed: None,
        thread: None,
    });
    match &message.content {
        Content::Edit { target: Some(_), .. } | Content::Deletion { target: Some(_) } => {
            Ok(InboundEvent::Change(message))
        }
        Content::System { .. } => Ok(InboundEvent::Message(message)),
        _ => Err(NO_TARGET.into()),
    }
}
