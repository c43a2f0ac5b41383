//! Encodes domain records as items, with the attributes that keys, indexes and conditions need.
//!
//! `DynamoDB` bills a write by the item's size, in steps of 1 KB. So an item leaves out what its key says: an event's id, a
//! conversation's id, a message's conversation and ordinal. The correlation id is stored once, as the index `trace` needs it.
//! The span of an event's webhook travels in the queue's message alone.

use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, TableKey};
use aws_sdk_dynamodb::types::AttributeValue;
use recado_domain::conversation::Conversation;
use recado_domain::event::{EventPayload, EventRecord};
use recado_domain::message::Message;
use recado_ports::ports::{PortError, PortResult};
use serde_json::{Map, Value};
use std::fmt::Display;

/// Builds the item of an event. The payload is an attribute of its own, so that it can be removed when the event is
/// applied.
pub(super) fn event_item(what: &'static str, record: &EventRecord) -> PortResult<Item> {
    let key = TableKey::for_event(&record.job.event);
    let mut item = item::encode_record(what, record)?;
    if let Some(AttributeValue::M(job)) = item.get_mut("job") {
        remove_fields(job, &["event", "correlation", "parent"]);
        let payload = job.remove("payload");
        item.extend(payload.map(|payload| ("payload".to_owned(), payload)));
    }
    let owner = keys::event_owner(record.job.provider, &record.job.external);
    keys::index_trace(&mut item, &record.job.correlation, owner);
    keys::index_open(&mut item, &key, record.overdue_at());
    Ok(key.into_item(item))
}

/// Parses the event of an item. A payload that was removed reads as null.
pub(super) fn parse_event_record(what: &'static str, item: &Item) -> PortResult<EventRecord> {
    let mut fields = item::decode_fields(what, item)?;
    let payload = match fields.remove("payload") {
        Some(payload) => payload,
        None => serde_json::to_value(EventPayload::Inline(Value::Null))
            .map_err(|error| PortError::invalid(what, error))?,
    };
    if let Some(Value::Object(job)) = fields.get_mut("job") {
        insert_field(job, "event", keys::parse_event_key(item));
        insert_field(job, "correlation", item::get_string(item, "trace"));
        job.insert("payload".to_owned(), payload);
    }
    item::parse_fields(what, fields)
}

fn remove_fields(item: &mut Item, names: &[&str]) {
    for name in names {
        item.remove(*name);
    }
}

fn insert_field(fields: &mut Map<String, Value>, name: &str, value: Option<impl Display>) {
    fields.extend(value.map(|value| (name.to_owned(), Value::String(value.to_string()))));
}

/// Builds the item of a conversation.
pub(super) fn conversation_item(what: &'static str, conversation: &Conversation) -> PortResult<Item> {
    let key = TableKey::for_conversation(&conversation.id);
    let mut item = item::encode_record(what, conversation)?;
    remove_fields(&mut item, &["id"]);
    let list = match conversation.listed_status() {
        Some(_) => {
            keys::index_active(&mut item, &key, conversation.last_message_at);
            keys::conversation_list_key(&conversation.tenant, &conversation.instance)
        }
        None => keys::unlisted_list_key(&conversation.tenant),
    };
    item.insert("list_key".to_owned(), text_attribute(list));
    let listed_at = number_attribute(conversation.last_message_at.as_millisecond());
    item.insert("list_at".to_owned(), listed_at);
    keys::index_open(&mut item, &key, conversation.answer_overdue_at());
    let person_owed = conversation.person_owed_since();
    keys::waiting::index_person_owed(&mut item, &key, &conversation.tenant, person_owed);
    Ok(key.into_item(item))
}

/// Builds the item by which the list of a tenant's retention finds a conversation.
pub(super) fn retention_item(conversation: &Conversation) -> Item {
    let id = text_attribute(conversation.id.to_string());
    let list = text_attribute(keys::retention_list_key(&conversation.tenant));
    let since = number_attribute(conversation.kept_since().as_millisecond());
    let item = Item::from([
        ("conversation".to_owned(), id),
        ("list_key".to_owned(), list),
        ("list_at".to_owned(), since),
    ]);
    TableKey::for_retention(&conversation.id).into_item(item)
}

/// Parses the conversation of an item.
pub(super) fn parse_conversation(what: &'static str, item: &Item) -> PortResult<Conversation> {
    let mut fields = item::decode_fields(what, item)?;
    insert_field(&mut fields, "id", keys::parse_conversation_key(item));
    item::parse_fields(what, fields)
}

/// Returns whether a message has an open copy: some work on it remains to be done.
pub(super) fn stays_open(message: &Message) -> bool {
    message.overdue_at().is_some()
}

/// Encodes a message without keys. A message that is larger than a record may be is refused.
fn sized_message_item(what: &'static str, message: &Message) -> PortResult<Item> {
    let json = serde_json::to_string(message).map_err(|error| PortError::invalid(what, error))?;
    PortError::check_record_size(what, json.len())?;
    let mut item = item::encode_record(what, message)?;
    remove_fields(&mut item, &["conversation", "ordinal"]);
    Ok(item)
}

/// Parses the message of an item: of its record, or of its open copy.
pub(super) fn parse_message(what: &'static str, item: &Item) -> PortResult<Message> {
    let mut fields = item::decode_fields(what, item)?;
    insert_field(&mut fields, "conversation", keys::parse_conversation_key(item));
    fields.extend(keys::parse_ordinal(item).map(|ordinal| ("ordinal".to_owned(), Value::from(ordinal.0))));
    if !fields.contains_key("correlation") {
        insert_field(&mut fields, "correlation", item::get_string(item, "trace"));
    }
    item::parse_fields(what, fields)
}

/// Builds the record of a message in its conversation. The record carries a revision only if the message is settled:
/// while a message is open, its open copy counts, and no condition on this record may hold.
pub(super) fn message_item(what: &'static str, message: &Message) -> PortResult<Item> {
    let mut item = sized_message_item(what, message)?;
    if let Some(out) = message.out.as_ref().filter(|_| !stays_open(message)) {
        item.insert("out_rev".to_owned(), number_attribute(out.rev));
    }
    remove_fields(&mut item, &["correlation"]);
    let owner = keys::message_owner(&message.tenant);
    keys::index_trace(&mut item, &message.correlation, owner);
    let key = TableKey::for_message(&message.conversation, message.ordinal);
    keys::index_open(&mut item, &key, message.file_due_at());
    Ok(key.into_item(item))
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
    }
    keys::index_open(&mut item, &key, message.overdue_at());
    Ok(key.into_item(item))
}

#[cfg(test)]
pub(super) mod tests;
