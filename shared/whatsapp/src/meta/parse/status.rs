//! `statuses[]`: what became of a message.

use super::super::errors::{describe, late_reason};
use super::{ignored, price};
use crate::json::{instant, label, list, text};
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::{EventKind, InboundJob, event_id};
use recado_domain::ids::{ExternalId, MessageId};
use recado_domain::inbound::{FailedDelivery, Inbound, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use serde_json::{Value, json};

/// One status as an item.
pub(super) fn item(
    provider: Provider,
    external: &ExternalId,
    status: &Value,
    received_at: Timestamp,
) -> WebhookItem {
    if text(status, "recipient_type") == Some("group") {
        return ignored("group status");
    }
    // Of an invoice: `failed` says nothing of the message there.
    if text(status, "type") == Some("payment") {
        return ignored("payment status");
    }
    let reached = match text(status, "status") {
        Some("sent") => DeliveryStatus::Sent,
        Some("delivered") => DeliveryStatus::Delivered,
        Some("read") => DeliveryStatus::Read,
        Some("played") => DeliveryStatus::Played,
        Some("failed") => DeliveryStatus::Failed,
        Some(other) => return ignored(format!("status {}", label(other))),
        None => return ignored("status without a word"),
    };
    let Some(update) = update(provider, external, status, reached, received_at) else {
        return ignored("status without an id");
    };
    if reached == DeliveryStatus::Failed {
        return failed(provider, external, status, &update);
    }
    WebhookItem::Status(update)
}

/// The update, under our own id if Meta echoes one.
fn update(
    provider: Provider,
    external: &ExternalId,
    status: &Value,
    reached: DeliveryStatus,
    received_at: Timestamp,
) -> Option<StatusUpdate> {
    let id = text(status, "id");
    let own = text(status, "biz_opaque_callback_data").and_then(own_id);
    let key = match (&own, id) {
        (Some(own), _) => DeliveryKey::own(provider, external, own),
        (None, Some(id)) => DeliveryKey::provider(provider, external, id),
        (None, None) => return None,
    };
    Some(StatusUpdate {
        key,
        status: reached,
        at: instant(status.get("timestamp")).unwrap_or(received_at),
        provider_message_id: id.map(str::to_owned),
        detail: Some(price::read(status))
            .filter(|detail| !detail.is_empty())
            .map(Box::new),
    })
}

/// Another application on the same account may put anything there.
fn own_id(callback_data: &str) -> Option<MessageId> {
    MessageId::parse(callback_data)
        .ok()
        .filter(|id| id.parts().is_ok())
}

/// To whom the message went.
fn recipient(status: &Value) -> Option<ContactAddress> {
    let recipient = text(status, "recipient_id").or_else(|| text(status, "recipient_user_id"));
    recipient.and_then(ContactAddress::parse)
}

/// A failure is an event. Its payload leaves out what is not read: names, and what masks take out of the error.
fn failed(provider: Provider, external: &ExternalId, status: &Value, update: &StatusUpdate) -> WebhookItem {
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
    let errors = list(status.get("errors")).iter().map(|error| {
        let title = text(error, "title").or_else(|| text(error, "message"));
        json!({ "code": error.get("code"), "title": title, "details": price::details(error) })
    });
    kept["errors"] = errors.collect();
    let kind = EventKind::Failed;
    let id = update
        .provider_message_id
        .as_deref()
        .unwrap_or(update.key.as_str());
    WebhookItem::Event(WebhookEvent {
        id: event_id(provider, external, kind, &format!("{id}:failed")),
        provider,
        external: external.clone(),
        kind,
        address: recipient(status),
        payload: json!({ "status": kept }),
        lookalike: false,
    })
}

/// Reads the payload of a failed delivery.
pub(super) fn interpret(job: &InboundJob, payload: &Value) -> Inbound {
    let none = Value::Null;
    let status = payload.get("status").unwrap_or(&none);
    let Some(update) = update(
        job.provider,
        &job.external,
        status,
        DeliveryStatus::Failed,
        job.received_at,
    ) else {
        return Inbound::Ignored {
            what: "status without an id".to_owned(),
        };
    };
    let first = list(status.get("errors")).first();
    Inbound::Failed(FailedDelivery {
        update,
        to: recipient(status),
        error: first.map_or_else(|| "no code".to_owned(), describe),
        reason: first.map_or(Reason::WhatsappPermanentError, late_reason),
    })
}
