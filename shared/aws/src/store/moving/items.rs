//! Makes the items of records of another store.

use super::super::deliveries::{ACKNOWLEDGED, ERASED, is_past_sent};
use super::super::item::{self, Item, number_attribute, text_attribute};
use super::super::keys::waiting::{WAIT_TENANT, acknowledged_shard, unacknowledged_shard};
use super::super::keys::{self, TableKey};
use super::super::outbox::note_item;
use super::super::records;
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::{SignedDuration, Timestamp};
use recado_domain::event::{EventPayload, EventState};
use recado_domain::instance::InstanceState;
use recado_domain::millis::add_duration;
use recado_domain::moving::{MovedDelivery, MovedEvent, MovedPublishedEvent, MovedRecord, OfInstance};
use recado_domain::published_event::DEFAULT_EVENT_RETENTION;
use recado_ports::ports::{PortError, PortResult};
use serde_json::Value;

/// The least time for which a published event is kept after an import, whatever its age. 1 day.
const EVENTS_KEPT: SignedDuration = SignedDuration::from_hours(24);

/// Lists the items of a record: its own, and those by which the store finds it.
pub(super) fn list_items(what: &'static str, record: &MovedRecord, now: Timestamp) -> PortResult<Vec<Item>> {
    Ok(match record {
        MovedRecord::Conversation(conversation) => {
            let kept = (!conversation.last.is_zero()).then(|| records::retention_item(conversation));
            [records::conversation_item(what, conversation)?]
                .into_iter()
                .chain(kept)
                .collect()
        }
        MovedRecord::Message(message) => {
            let open = records::stays_open(message).then(|| records::open_message_item(what, message));
            let open = open.transpose()?;
            [records::message_item(what, message)?]
                .into_iter()
                .chain(open)
                .collect()
        }
        MovedRecord::PublishedEvent(event) => logged_items(what, event, now)?,
        _ => vec![single_item(what, record)?],
    })
}

/// Makes the item of a record that is one item.
fn single_item(what: &'static str, record: &MovedRecord) -> PortResult<Item> {
    Ok(match record {
        MovedRecord::InstanceState(state) => state_item(what, state)?,
        MovedRecord::Event(event) => event_item(what, event)?,
        MovedRecord::Delivery(delivery) => delivery_item(what, delivery)?,
        MovedRecord::InFlight(note) => {
            let key = TableKey::for_in_flight(&note.instance, &note.record);
            note_item(what, key, &note.record, note.record.claimed_at)?
        }
        MovedRecord::Parked(parked) => {
            let key = TableKey::for_parked(&parked.instance, &parked.conversation);
            let mut item = item::encode_record(what, &**parked)?;
            keys::index_open(&mut item, &key, Some(parked.release_due_at()));
            key.into_item(item)
        }
        MovedRecord::Usage(sum) => {
            let item = expiring(item::encode_record(what, &sum.record)?, sum.expires);
            TableKey::for_usage_of_model(&sum.record, "").into_item(item)
        }
        other => {
            let why = format!("no item is made of {}", other.kind().as_str());
            return Err(PortError::invalid(what, why));
        }
    })
}

/// Lets an item expire at a time, in whole seconds.
fn expiring(mut item: Item, at: Timestamp) -> Item {
    item.insert("ttl".to_owned(), number_attribute(at.as_second()));
    item
}

fn state_item(what: &'static str, state: &OfInstance<InstanceState>) -> PortResult<Item> {
    let key = TableKey::for_instance_state(&state.instance);
    let mut item = item::encode_record(what, &state.record)?;
    keys::index_open(&mut item, &key, state.record.index_time());
    Ok(key.into_item(item))
}

/// Makes the item of an event. An event that was applied has no body any more.
fn event_item(what: &'static str, event: &MovedEvent) -> PortResult<Item> {
    let mut item = records::event_item(what, &event.record)?;
    let is_bare = event.record.job.payload == EventPayload::Inline(Value::Null);
    if event.record.state == EventState::Applied && is_bare {
        item.remove("payload");
    }
    Ok(match event.expires {
        Some(expires) => expiring(item, expires),
        None => item,
    })
}

fn delivery_item(what: &'static str, delivery: &MovedDelivery) -> PortResult<Item> {
    let key = TableKey::for_delivery(&delivery.key);
    let Some(record) = &delivery.record else {
        let item = Item::from([(ERASED.to_owned(), AttributeValue::Bool(true))]);
        return Ok(key.into_item(expiring(item, delivery.expires)));
    };
    let mut item = expiring(item::encode_record(what, record)?, delivery.expires);
    // Both are made of the times when the record is read.
    item.remove("status");
    item.remove("at");
    if let Some(status) = record.status {
        item.insert(ACKNOWLEDGED.to_owned(), text_attribute(acknowledged_shard(&key)));
        if is_past_sent(status) {
            item.insert(item::PAST_SENT.to_owned(), AttributeValue::Bool(true));
        }
    } else if let Some(awaited) = &delivery.awaited {
        let texts = [
            ("open_shard", unacknowledged_shard(&awaited.tenant)),
            (WAIT_TENANT, awaited.tenant.as_str().to_owned()),
            ("instance", awaited.instance.as_str().to_owned()),
        ];
        item.extend(texts.map(|(name, text)| (name.to_owned(), text_attribute(text))));
        let times = [("open_due", awaited.due), ("since", awaited.accepted_at)];
        item.extend(times.map(|(name, at)| (name.to_owned(), number_attribute(at.as_millisecond()))));
    }
    Ok(key.into_item(item))
}

/// Makes the items of a published event: in the log of its tenant, and in that of the installation.
fn logged_items(what: &'static str, logged: &MovedPublishedEvent, now: Timestamp) -> PortResult<Vec<Item>> {
    let events = serde_json::to_string(&[&logged.event]).map_err(|error| PortError::invalid(what, error))?;
    let item = Item::from([
        ("first".to_owned(), number_attribute(logged.cursor.0)),
        ("events".to_owned(), text_attribute(events)),
    ]);
    let by_age = add_duration(logged.event.at, DEFAULT_EVENT_RETENTION);
    let item = expiring(item, by_age.max(add_duration(now, EVENTS_KEPT)));
    let tenant = logged.event.tenant.as_ref();
    let mut items = vec![TableKey::for_logged_events(None, logged.cursor).into_item(item.clone())];
    if tenant.is_some() {
        items.push(TableKey::for_logged_events(tenant, logged.cursor).into_item(item));
    }
    Ok(items)
}
