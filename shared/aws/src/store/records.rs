//! Encodes domain records as items, with the attributes that keys, indexes and conditions need.

use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, TableKey};
use recado_domain::conversation::Conversation;
use recado_domain::event::{EventPayload, EventRecord};
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_pipeline::ports::{PortError, PortResult};
use serde_json::Value;

/// Builds the item of an event. The payload is an attribute of its own, so that it can be removed when the event is
/// applied.
pub(super) fn event_item(what: &'static str, record: &EventRecord) -> PortResult<Item> {
    let key = TableKey::for_event(&record.job.event);
    let mut item = item::encode_record(what, record)?;
    let job = item.get_mut("job").and_then(|job| match job {
        aws_sdk_dynamodb::types::AttributeValue::M(fields) => fields.remove("payload"),
        _ => None,
    });
    item.extend(job.map(|payload| ("payload".to_owned(), payload)));
    keys::index_trace(&mut item, &record.job.correlation);
    keys::index_open(&mut item, &key, record.overdue_at());
    Ok(key.into_item(item))
}

/// Parses the event of an item. A payload that was removed reads as null.
pub(super) fn parse_event_record(what: &'static str, item: &Item) -> PortResult<EventRecord> {
    let mut item = item.clone();
    let payload = match item.remove("payload") {
        Some(payload) => payload,
        None => null_payload(what)?,
    };
    if let Some(aws_sdk_dynamodb::types::AttributeValue::M(job)) = item.get_mut("job") {
        job.insert("payload".to_owned(), payload);
    }
    item::decode_record(what, &item)
}

fn null_payload(what: &'static str) -> PortResult<aws_sdk_dynamodb::types::AttributeValue> {
    let json = serde_json::to_string(&EventPayload::Inline(Value::Null));
    json.map(text_attribute)
        .map_err(|error| PortError::invalid(what, error))
}

/// Builds the item of a conversation.
pub(super) fn conversation_item(what: &'static str, conversation: &Conversation) -> PortResult<Item> {
    let key = TableKey::for_conversation(&conversation.id);
    let mut item = item::encode_record(what, conversation)?;
    if conversation.listed_status().is_some() {
        item.insert(
            "list_key".to_owned(),
            text_attribute(keys::instance_list_key(&conversation.instance)),
        );
        item.insert(
            "list_at".to_owned(),
            number_attribute(conversation.last_message_at.as_millisecond()),
        );
    }
    keys::index_open(&mut item, &key, conversation.answer_overdue_at());
    Ok(key.into_item(item))
}

/// Builds the item by which the list of a tenant's retention finds a conversation.
pub(super) fn retention_item(conversation: &Conversation) -> Item {
    let item = Item::from([
        (
            "conversation".to_owned(),
            text_attribute(conversation.id.to_string()),
        ),
        (
            "list_key".to_owned(),
            text_attribute(keys::retention_list_key(&conversation.tenant)),
        ),
        (
            "list_at".to_owned(),
            number_attribute(conversation.kept_since().as_millisecond()),
        ),
    ]);
    TableKey::for_retention(&conversation.id).into_item(item)
}

/// Returns whether a message has an open copy: some work on it remains to be done.
pub(super) fn stays_open(message: &Message) -> bool {
    message.overdue_at().is_some()
}

/// Encodes a message without keys. A message that is larger than a record may be is refused.
fn sized_message_item(what: &'static str, message: &Message) -> PortResult<Item> {
    let json = serde_json::to_string(message).map_err(|error| PortError::invalid(what, error))?;
    PortError::check_record_size(what, json.len())?;
    item::encode_record(what, message)
}

/// Builds the record of a message in its conversation. The record carries a revision only if the message is settled:
/// while a message is open, its open copy counts, and no condition on this record may hold.
pub(super) fn message_item(what: &'static str, message: &Message) -> PortResult<Item> {
    let mut item = sized_message_item(what, message)?;
    if let Some(out) = message.out.as_ref().filter(|_| !stays_open(message)) {
        item.insert("out_rev".to_owned(), number_attribute(out.rev));
    }
    keys::index_trace(&mut item, &message.correlation);
    Ok(TableKey::for_message(&message.conversation, message.ordinal).into_item(item))
}

/// Returns whether a message's record was written while its open copy was the one that counts.
pub(super) fn was_open(item: &Item, message: &Message) -> bool {
    message.out.is_some() && !item.contains_key("out_rev")
}

/// Builds the open copy of a message.
pub(super) fn open_message_item(what: &'static str, message: &Message) -> PortResult<Item> {
    let key = TableKey::for_open_message(&message.conversation, message.ordinal);
    let mut item = sized_message_item(what, message)?;
    if let Some(out) = &message.out {
        item.insert("out_rev".to_owned(), number_attribute(out.rev));
        if let OutboxState::Sending { nonce, .. } = &out.state {
            item.insert("out_nonce".to_owned(), text_attribute(nonce.as_str()));
        }
    }
    keys::index_open(&mut item, &key, message.overdue_at());
    Ok(key.into_item(item))
}

#[cfg(test)]
pub(super) mod tests;
