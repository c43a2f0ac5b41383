//! Reads `messages.update`: the status of a message.

use super::chat::parse_jid;
use super::vote;
use super::{EvolutionEnvelope, find_message_id};
use crate::wire::json::{get_text, parse_integer, parse_timestamp, sanitize_label};
use crate::wire::{ReadEvent, ReadItem};
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::{EventKind, InboundJob, derive_event_id};
use recado_domain::inbound::{FailedDelivery, InboundEvent, WebhookItem};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use serde_json::Value;

/// The reason why a status is ignored that names no message.
const NO_ID: &str = "status without an id";

/// Builds the item for one update.
///
/// Updates have no time in version 2 (`received_at` is used) and `datetime` in version 1. Updates of incoming messages
/// (`fromMe: false`: the message was read on another device of the business) are ignored, because they are not about a
/// delivery.
pub(super) fn build_status_item(
    envelope: &EvolutionEnvelope,
    part: &Value,
    received_at: Timestamp,
) -> ReadItem {
    let id = find_message_id(part).ok_or(NO_ID)?;
    if vote::is_poll_vote(part) {
        return vote::build_vote_item(envelope, part);
    }
    // An edit or a vote has no status, although 2.3.7 writes SERVER_ACK. The edit or vote itself comes as another event.
    let carries = |field| part.get(field).is_some_and(|value: &Value| !value.is_null());
    if carries("message") || carries("pollUpdates") {
        return Err("update of a message's content".into());
    }
    let from_me = part.get("fromMe").or_else(|| part.get("key")?.get("fromMe"));
    if from_me.and_then(Value::as_bool) == Some(false) {
        return Err("status of an incoming message".into());
    }
    let status = match parse_status_word(part).as_deref() {
        Some("SERVER_ACK") => DeliveryStatus::Sent,
        Some("DELIVERY_ACK") => DeliveryStatus::Delivered,
        Some("READ") => DeliveryStatus::Read,
        Some("PLAYED") => DeliveryStatus::Played,
        Some("ERROR") => return Ok(failed_delivery_item(envelope, part, id)),
        Some(other) => {
            return Err(format!("status {}", sanitize_label(&other.to_ascii_lowercase())).into());
        }
        None => return Err("update without a status".into()),
    };
    Ok(WebhookItem::Status(StatusUpdate {
        key: DeliveryKey::from_provider_id(Provider::Evolution, &envelope.instance, id),
        status,
        at: parse_timestamp(part.get("datetime")).unwrap_or(received_at),
        provider_message_id: None,
        detail: None,
    }))
}

/// Returns the status as a word; numbers are WhatsApp's own (renderStatus.ts).
fn parse_status_word(part: &Value) -> Option<String> {
    let status = part.get("status")?;
    let named = match parse_integer(status) {
        Some(0) => "ERROR",
        Some(1) => "PENDING",
        Some(2) => "SERVER_ACK",
        Some(3) => "DELIVERY_ACK",
        Some(4) => "READ",
        Some(5) => "PLAYED",
        Some(_) => return Some("UNKNOWN".to_owned()),
        None => {
            return status
                .as_str()
                .map(|word| word.trim().to_ascii_uppercase())
                .filter(|word| !word.is_empty());
        }
    };
    Some(named.to_owned())
}

/// Returns the address of the chat that the message is in.
fn parse_recipient(part: &Value) -> Option<ContactAddress> {
    let remote = get_text(part, "remoteJid").or_else(|| get_text(part.get("key")?, "remoteJid"));
    remote.and_then(parse_jid)
}

fn failed_delivery_item(envelope: &EvolutionEnvelope, part: &Value, id: &str) -> WebhookItem {
    let to = parse_recipient(part);
    let mut data = part.clone();
    if let Value::Object(fields) = &mut data {
        // The quoted or edited message is not needed here.
        fields.remove("message");
    }
    let kind = EventKind::Failed;
    let event_id = derive_event_id(Provider::Evolution, &envelope.instance, kind, id);
    WebhookItem::Event(envelope.build_event(kind, event_id, to, envelope.build_payload(data)))
}

pub(super) fn interpret_failure(job: &InboundJob, payload: &Value) -> ReadEvent {
    let data = payload.get("data").unwrap_or(&Value::Null);
    let id = find_message_id(data).ok_or(NO_ID)?;
    Ok(InboundEvent::Failed(FailedDelivery {
        update: StatusUpdate {
            key: DeliveryKey::from_provider_id(job.provider, &job.external, id),
            status: DeliveryStatus::Failed,
            at: parse_timestamp(data.get("datetime")).unwrap_or(job.received_at),
            provider_message_id: None,
            detail: None,
        },
        to: parse_recipient(data),
        // Evolution gives no further reason.
        error: "status ERROR".to_owned(),
        reason: Reason::WhatsappPermanentError,
    }))
}
