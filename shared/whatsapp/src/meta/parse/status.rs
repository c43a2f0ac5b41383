//! Reads `statuses[]`: the delivery status of a message.

use super::super::errors::{describe_error, reason_of_failure};
use super::status_detail;
use crate::wire::json::{get_text, list_members, parse_timestamp, sanitize_label};
use crate::wire::{ReadEvent, ReadItem};
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::country::Country;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::{EventKind, InboundJob, derive_event_id};
use recado_domain::ids::{ExternalId, MessageId};
use recado_domain::inbound::{FailedDelivery, InboundEvent, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use serde_json::{Value, json};

/// The reason why a status is ignored that names no message.
const NO_ID: &str = "status without an id";

pub(super) fn build_status_item(
    provider: Provider,
    external: &ExternalId,
    status: &Value,
    received_at: Timestamp,
) -> ReadItem {
    if get_text(status, "recipient_type") == Some("group") {
        return Err("group status".into());
    }
    // A payment status is about an invoice: `failed` means the payment, not the message.
    if get_text(status, "type") == Some("payment") {
        return Err("payment status".into());
    }
    let reached = match get_text(status, "status") {
        Some("sent") => DeliveryStatus::Sent,
        Some("delivered") => DeliveryStatus::Delivered,
        Some("read") => DeliveryStatus::Read,
        Some("played") => DeliveryStatus::Played,
        Some("failed") => DeliveryStatus::Failed,
        Some(other) => return Err(format!("status {}", sanitize_label(other)).into()),
        None => return Err("status without a word".into()),
    };
    let update = read_status_update(provider, external, status, reached, received_at).ok_or(NO_ID)?;
    if reached == DeliveryStatus::Failed {
        return Ok(build_failure_item(provider, external, status, &update));
    }
    if update.find_charge().is_some() {
        return Ok(WebhookItem::ChargedStatus {
            update,
            provider,
            external: external.clone(),
        });
    }
    Ok(WebhookItem::Status(update))
}

/// Builds the status update, under Recado's own message id if Meta sends it back, or else under the provider's id.
fn read_status_update(
    provider: Provider,
    external: &ExternalId,
    status: &Value,
    reached: DeliveryStatus,
    received_at: Timestamp,
) -> Option<StatusUpdate> {
    let id = get_text(status, "id");
    let own = get_text(status, "biz_opaque_callback_data").and_then(parse_own_message_id);
    let key = match (&own, id) {
        (Some(own), _) => DeliveryKey::from_own_id(provider, external, own),
        (None, Some(id)) => DeliveryKey::from_provider_id(provider, external, id),
        (None, None) => return None,
    };
    Some(StatusUpdate {
        key,
        status: reached,
        at: parse_timestamp(status.get("timestamp")).unwrap_or(received_at),
        provider_message_id: id.map(str::to_owned),
        detail: Some(status_detail::read_status_detail(
            status,
            find_recipient_country(status),
        ))
        .filter(|detail| !detail.is_empty())
        .map(Box::new),
    })
}

/// Reads Recado's own message id. Another application on the same account may put any text into this field.
fn parse_own_message_id(callback_data: &str) -> Option<MessageId> {
    MessageId::parse(callback_data)
        .ok()
        .filter(|id| id.conversation_and_ordinal().is_ok())
}

/// Returns the address that the message was sent to.
fn read_recipient(status: &Value) -> Option<ContactAddress> {
    let recipient = get_text(status, "recipient_id").or_else(|| get_text(status, "recipient_user_id"));
    recipient.and_then(ContactAddress::parse)
}

/// Returns the country of the recipient: by the number, else by the user id.
fn find_recipient_country(status: &Value) -> Option<Country> {
    ["recipient_id", "recipient_user_id"]
        .into_iter()
        .filter_map(|key| ContactAddress::parse(get_text(status, key)?))
        .find_map(|address| Country::find_for_address(&address))
}

/// Builds the event for a failed delivery. Its payload has neither names nor the parts of the error that are masked.
fn build_failure_item(
    provider: Provider,
    external: &ExternalId,
    status: &Value,
    update: &StatusUpdate,
) -> WebhookItem {
    let mut kept = json!({});
    for key in [
        "id",
        "timestamp",
        "biz_opaque_callback_data",
        "pricing",
        "conversation",
        "recipient_id",
        "recipient_user_id",
    ] {
        if let Some(value) = status.get(key) {
            kept[key] = value.clone();
        }
    }
    let errors = list_members(status.get("errors")).iter().map(|error| {
        let title = get_text(error, "title").or_else(|| get_text(error, "message"));
        json!({ "code": error.get("code"), "title": title, "details": status_detail::read_error_details(error) })
    });
    kept["errors"] = errors.collect();
    let kind = EventKind::Failed;
    let id = update
        .provider_message_id
        .as_deref()
        .unwrap_or(update.key.as_str());
    WebhookItem::Event(WebhookEvent {
        id: derive_event_id(provider, external, kind, &format!("{id}:failed")),
        provider,
        external: external.clone(),
        kind,
        address: read_recipient(status),
        payload: json!({ "status": kept }),
        lookalike: false,
        file: None,
    })
}

pub(super) fn interpret_failure(job: &InboundJob, payload: &Value) -> ReadEvent {
    let none = Value::Null;
    let status = payload.get("status").unwrap_or(&none);
    let failed = DeliveryStatus::Failed;
    let update = read_status_update(job.provider, &job.external, status, failed, job.received_at);
    let update = update.ok_or(NO_ID)?;
    let first = list_members(status.get("errors")).first();
    Ok(InboundEvent::Failed(FailedDelivery {
        update,
        to: read_recipient(status),
        error: first.map_or_else(|| "no code".to_owned(), describe_error),
        reason: first.map_or(Reason::WhatsappPermanentError, reason_of_failure),
    }))
}
