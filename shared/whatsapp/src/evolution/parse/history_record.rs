//! Reads a record of `chat/findMessages`: a message as in `messages.upsert`, with the rows of its status updates.

use super::{EvolutionEnvelope, change, message, status};
use crate::wire::ReadItem;
use crate::wire::json::{get_text, list_members, parse_timestamp};
use jiff::Timestamp;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_ports::ports::HistoryRecord;
use serde_json::{Value, json};

/// Reads a record. `now` is used as the time of its status, because statuses carry none.
pub(crate) fn parse_history_record(instance: &ExternalId, record: &Value, now: Timestamp) -> HistoryRecord {
    let envelope = envelope_for_event(instance, "messages.upsert");
    let key = record.get("key").unwrap_or(&Value::Null);
    let from_me = key.get("fromMe").and_then(Value::as_bool) == Some(true);
    let id = get_text(key, "id").filter(|_| from_me);
    let item = message_or_deletion_item(&envelope, record, key);
    let mut items = vec![item.unwrap_or_else(WebhookItem::ignored)];
    items.extend(id.and_then(|id| best_status_item(&envelope, id, record, now)));
    HistoryRecord {
        items,
        at: parse_timestamp(record.get("messageTimestamp")),
        own_delivery: id.map(|id| DeliveryKey::from_provider_id(Provider::Evolution, instance, id)),
    }
}

/// Builds the envelope of the webhook that would have reported the record.
fn envelope_for_event(instance: &ExternalId, event: &str) -> EvolutionEnvelope {
    EvolutionEnvelope {
        event: event.to_owned(),
        instance: instance.clone(),
        data: Value::Null,
        date_time: None,
        own_jid: None,
    }
}

/// Builds the item for the message itself, or for its deletion.
fn message_or_deletion_item(envelope: &EvolutionEnvelope, record: &Value, key: &Value) -> ReadItem {
    if was_deleted(record) {
        let envelope = self::envelope_for_event(&envelope.instance, "messages.delete");
        return change::build_deletion_item(&envelope, &json!({ "key": key }));
    }
    let mut part = record.clone();
    if let Value::Object(fields) = &mut part {
        // These fields are database rows and ids without further information.
        fields.retain(|name, _| !matches!(name.as_str(), "MessageUpdate" | "_id" | "id"));
    }
    message::build_message_item(envelope, &part)
}

/// Returns `true` if the message was deleted for everyone. Only the record's own status is reliable: in the rows of
/// updates, versions 2.3.0 to 2.3.4 write `DELETED` for edits and votes.
fn was_deleted(record: &Value) -> bool {
    let marked = record.get("key").and_then(|key| key.get("deleted"));
    get_text(record, "status") == Some("DELETED") || marked.and_then(Value::as_bool) == Some(true)
}

/// Returns the item for the highest status of a message. A failure counts only if the message reached nobody.
fn best_status_item(
    envelope: &EvolutionEnvelope,
    id: &str,
    record: &Value,
    now: Timestamp,
) -> Option<WebhookItem> {
    let remote = record.get("key").and_then(|key| get_text(key, "remoteJid"));
    let updates = list_members(record.get("MessageUpdate"));
    let words = updates.iter().chain([record]);
    let known = words.filter_map(|row| {
        let word = row.get("status")?;
        let part = json!({"keyId": id, "remoteJid": remote, "fromMe": true, "status": word});
        let item = status::build_status_item(envelope, &part, now).ok()?;
        let rank = match &item {
            WebhookItem::Status(update) | WebhookItem::ChargedStatus { update, .. } => {
                update.status.status_rank()
            }
            WebhookItem::Event(_) => DeliveryStatus::Failed.status_rank(),
            WebhookItem::Notice { .. } | WebhookItem::Typing(_) | WebhookItem::Ignored { .. } => return None,
        };
        Some((rank, item))
    });
    known.max_by_key(|(rank, _)| *rank).map(|(_, item)| item)
}
