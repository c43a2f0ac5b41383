//! Reads `messages.upsert`, `send.message` and `messages.set`.

use super::EvolutionEnvelope;
use super::change::address_of_change;
use super::chat::{choose_chat_peer, find_linked_identity};
use super::content;
use super::context;
use super::unused_fields::drop_unused_fields;
use super::webhook_file::take_webhook_file;
use crate::wire::json::{get_text, parse_integer, parse_timestamp};
use crate::wire::{ReadEvent, ReadItem};
use recado_domain::content::{Content, SystemNote};
use recado_domain::event::{EventKind, derive_event_id, derive_event_id_from_body};
use recado_domain::inbound::{InboundEvent, InboundMessage, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use serde_json::Value;

/// Name that Evolution gives the author of messages of the business itself (always in Portuguese).
const OWN_AUTHOR_NAME: &str = "Você";

/// The reasons why a message is ignored: it names no chat, or says nothing.
pub(super) const NO_CHAT: &str = "message without a chat";
const NO_CONTENT: &str = "message without content";

pub(super) fn build_message_item(envelope: &EvolutionEnvelope, part: &Value) -> ReadItem {
    let key = part.get("key").ok_or(NO_CHAT)?;
    let address = choose_chat_peer(key, envelope.own_jid.as_deref()).into_person(NO_CHAT)?;
    let message = part.get("message").unwrap_or(&Value::Null);
    let without_content = WithoutContent::from_message(part);
    if without_content.is_none() && !content::has_content(message) {
        return Err(match content::find_lone_mark(message) {
            Some(mark) => format!("mark {mark}").into(),
            None => NO_CONTENT.into(),
        });
    }
    // In the contact's own FIFO group a change would hold up the message that it waits for.
    let address = content::encrypted_change_target(message)
        .and_then(address_of_change)
        .unwrap_or(address);
    let mut data = part.clone();
    let file = take_webhook_file(&mut data);
    drop_unused_fields(&mut data);
    let payload = envelope.build_message_payload(data);
    let (provider, external, kind) = (Provider::Evolution, &envelope.instance, EventKind::Message);
    let own_id = get_text(key, "id");
    let id = match (own_id, without_content) {
        // The message itself may still come under this id. So this event must not be known by the id alone.
        (Some(id), Some(without)) => derive_event_id(
            provider,
            external,
            kind,
            &format!("{}\n{id}", without.event_prefix()),
        ),
        (Some(id), None) => derive_event_id(provider, external, kind, id),
        (None, _) => derive_event_id_from_body(provider, external, kind, &payload),
    };
    let has_time = envelope.date_time.is_some() || parse_timestamp(part.get("messageTimestamp")).is_some();
    Ok(WebhookItem::Event(WebhookEvent {
        lookalike: own_id.is_none() && !has_time,
        file,
        ..envelope.build_event(kind, id, Some(address), payload)
    }))
}

/// A message of a contact that has no content and is told to people all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WithoutContent {
    /// The contact clicked an advertisement and wrote nothing.
    Welcome,
    /// WhatsApp's program could not decrypt the message.
    Unreadable {
        /// The contact came from an advertisement.
        is_lead: bool,
    },
}

impl WithoutContent {
    /// Returns what the message at `data`, the object that has `key` and `message`, is; `None` if it is neither.
    fn from_message(data: &Value) -> Option<Self> {
        let message = data.get("message").unwrap_or(&Value::Null);
        let from_me = data.get("key")?.get("fromMe").and_then(Value::as_bool) == Some(true);
        if from_me || content::has_content(message) || message.get("protocolMessage").is_some() {
            return None;
        }
        let is_lead = context::parse_context(data).referral.is_some();
        if is_undecrypted(data) {
            return Some(Self::Unreadable { is_lead });
        }
        // `call` tells from which advertisement a click came.
        let is_empty = content::find_lone_mark(message).is_none_or(|mark| mark == "call");
        (is_empty && is_lead).then_some(Self::Welcome)
    }

    /// Returns the word that distinguishes its event from that of a message with the same id.
    fn event_prefix(self) -> &'static str {
        match self {
            Self::Welcome => "welcome",
            Self::Unreadable { .. } => "unreadable",
        }
    }

    fn content(self) -> Content {
        match self {
            Self::Welcome => Content::Welcome,
            Self::Unreadable { is_lead: false } => content::unreadable_note(),
            Self::Unreadable { is_lead: true } => Content::System {
                what: SystemNote::UnreadableLead,
                text: None,
            },
        }
    }
}

/// Returns `true` for a message that could not be decrypted: `messageStubType` is `CIPHERTEXT`, or its number.
fn is_undecrypted(data: &Value) -> bool {
    let kind = data.get("messageStubType");
    kind.and_then(Value::as_str) == Some("CIPHERTEXT") || kind.and_then(parse_integer) == Some(2)
}

pub(super) fn interpret_message(payload: &Value) -> ReadEvent {
    let none = Value::Null;
    let data = payload.get("data").unwrap_or(&none);
    let key = data.get("key").unwrap_or(&none);
    let address = choose_chat_peer(key, get_text(payload, "sender")).into_person(NO_CHAT)?;
    let message = data.get("message").unwrap_or(&none);
    let id = get_text(key, "id").map(str::to_owned);
    let content = match WithoutContent::from_message(data) {
        Some(without) => without.content(),
        None if content::has_content(message) => content::parse_content(message, id.as_deref()),
        None => return Err(NO_CONTENT.into()),
    };
    // Messages sent by the API come as `send.message`; messages typed on the phone come as `messages.upsert` with
    // `fromMe`.
    let own = get_text(payload, "event") == Some("send.message");
    let from_me = own || key.get("fromMe").and_then(Value::as_bool).unwrap_or(false);
    let is_change = content::encrypted_change_target(message).is_some();
    let told = Box::new(InboundMessage {
        phone: address.phone_number(),
        address,
        numberless_identity: find_linked_identity(key, get_text(payload, "sender")),
        name: if from_me { None } else { parse_author_name(data) },
        from_me,
        sent_at: parse_timestamp(data.get("messageTimestamp")),
        content,
        context: context::parse_context(data),
        provider_message_id: id,
        not_owed: None,
        thread: None,
    });
    Ok(if is_change {
        InboundEvent::Change(told)
    } else {
        InboundEvent::Message(told)
    })
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
