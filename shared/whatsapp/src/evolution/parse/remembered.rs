//! A message as `chat/findMessages` gives it: one of `messages.upsert` with the rows of its updates.

use super::{Envelope, change, message, status};
use crate::json::{instant, list, text};
use jiff::Timestamp;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::WebhookItem;
use recado_pipeline::ports::HistoryRecord;
use serde_json::{Value, json};

/// Reads a record. `now` is the time of its status, which carries none.
pub(crate) fn remembered(instance: &ExternalId, record: &Value, now: Timestamp) -> HistoryRecord {
    let envelope = envelope(instance, "messages.upsert");
    let key = record.get("key").unwrap_or(&Value::Null);
    let from_me = key.get("fromMe").and_then(Value::as_bool) == Some(true);
    let id = text(key, "id").filter(|_| from_me);
    let mut items = vec![said(&envelope, record, key)];
    items.extend(id.and_then(|id| best(&envelope, id, record, now)));
    HistoryRecord {
        items,
        at: instant(record.get("messageTimestamp")),
        own: id.map(|id| DeliveryKey::provider(crate::evolution::NAME, instance, id)),
    }
}

/// The envelope of the webhook that would have brought it.
fn envelope(instance: &ExternalId, event: &str) -> Envelope {
    Envelope {
        event: event.to_owned(),
        instance: instance.clone(),
        data: Value::Null,
        date_time: None,
        own: None,
    }
}

/// The message itself, or that it was deleted.
fn said(envelope: &Envelope, record: &Value, key: &Value) -> WebhookItem {
    if taken_back(record) {
        let envelope = self::envelope(&envelope.instance, "messages.delete");
        return change::deleted(&envelope, &json!({ "key": key }));
    }
    let mut part = record.clone();
    if let Value::Object(fields) = &mut part {
        // Rows of its database, which say nothing more.
        fields.retain(|name, _| !matches!(name.as_str(), "MessageUpdate" | "_id" | "id"));
    }
    message::item(envelope, &part)
}

/// Whether the message was deleted for everyone. Only the record's own status tells: in the rows of its updates versions
/// 2.3.0 to 2.3.4 write `DELETED` for edits and votes.
fn taken_back(record: &Value) -> bool {
    let marked = record.get("key").and_then(|key| key.get("deleted"));
    text(record, "status") == Some("DELETED") || marked.and_then(Value::as_bool) == Some(true)
}

/// The best of a message's statuses; a failure is the best where it reached nobody.
fn best(envelope: &Envelope, id: &str, record: &Value, now: Timestamp) -> Option<WebhookItem> {
    let remote = record.get("key").and_then(|key| text(key, "remoteJid"));
    let updates = list(record.get("MessageUpdate"));
    let words = updates.iter().chain([record]);
    let known = words.filter_map(|row| {
        let word = row.get("status")?;
        let part = json!({"keyId": id, "remoteJid": remote, "fromMe": true, "status": word});
        let item = status::item(envelope, &part, now);
        let rank = match &item {
            WebhookItem::Status(update) => update.status.rank(),
            WebhookItem::Event(_) => DeliveryStatus::Failed.rank(),
            WebhookItem::Notice { .. } | WebhookItem::Ignored { .. } => return None,
        };
        Some((rank, item))
    });
    known.max_by_key(|(rank, _)| *rank).map(|(_, item)| item)
}
