//! Makes records of items, by their keys. An item of a key that is not known is an error: nothing may be left behind.

use super::super::deliveries::{ERASED, parse_delivery};
use super::super::identity::{FORMAT, KEY, UNFINISHED_FORMAT, parse_identity_key};
use super::super::item::{self, Item};
use super::super::keys::{FLY, MESSAGE, PARK, STATE};
use super::super::published_events::parse_logged;
use super::super::records;
use super::super::unacknowledged::parse_awaited;
use super::TAKING;
use jiff::Timestamp;
use recado_domain::delivery::DeliveryKey;
use recado_domain::ids::InstanceId;
use recado_domain::message::Message;
use recado_domain::moving::{
    MovedDelivery, MovedEvent, MovedIdentityKey, MovedPublishedEvent, MovedRecord, OfInstance,
};
use recado_domain::published_event::EventCursor;
use recado_ports::ports::{PortError, PortResult};
use serde::de::DeserializeOwned;

/// The meaning of an item.
pub(super) enum FoundRecord {
    /// These records: none, if the store makes the item of others, or it is not moved.
    Records(Vec<MovedRecord>),
    /// A message whose open copy counts.
    OpenMessage(Box<Message>),
    /// One of the items over which a sum is spread.
    PartOfSum,
}

/// Finds out what an item is.
pub(super) fn parse_found(what: &'static str, item: &Item) -> PortResult<FoundRecord> {
    let text = |name| item::get_string(item, name).unwrap_or_default();
    let (pk, sk) = (text("pk"), text("sk"));
    let unknown = || {
        let why = format!("a record under the key {} is not known", key_kind(pk));
        PortError::invalid(what, why)
    };
    let (kind, rest) = pk.split_once('#').unwrap_or((pk, ""));
    let record = match kind {
        "E" => MovedRecord::Event(Box::new(MovedEvent::new(
            records::parse_event_record(what, item)?,
            expiry(item),
        ))),
        "C" if sk.contains(MESSAGE) => {
            let message = Box::new(records::parse_message(what, item)?);
            if records::was_open(item, &message) {
                return Ok(FoundRecord::OpenMessage(message));
            }
            MovedRecord::Message(message)
        }
        "C" => MovedRecord::Conversation(Box::new(records::parse_conversation(what, item)?)),
        "D" => parse_moved_delivery(what, rest, item)?,
        "I" => parse_of_instance(what, (rest, sk), item)?,
        "Q" => return Ok(FoundRecord::PartOfSum),
        "G" if rest == "K" => return parse_moved_key(what, item).map(FoundRecord::Records),
        "Z" | "ZH" | "ZB" | "ZS" | "ZT" | "ZL" | "ZC" => {
            return parse_event_log(what, (kind, rest), item).map(FoundRecord::Records);
        }
        // Open copies of messages, signs of typing, and lists of retention.
        "O" | "P" | "R" => return Ok(FoundRecord::Records(Vec::new())),
        _ => return Err(unknown()),
    };
    Ok(FoundRecord::Records(vec![record]))
}

/// Returns the part of a key that says what is stored under it, without the names in it.
fn key_kind(pk: &str) -> &str {
    let end = if pk.starts_with(|c: char| c.is_ascii_lowercase()) {
        pk.find('#')
    } else {
        pk.find(|c: char| !c.is_ascii_uppercase() && c != '#')
    };
    &pk[..end.unwrap_or(pk.len())]
}

fn decode<T: DeserializeOwned>(what: &'static str, item: &Item) -> PortResult<Box<T>> {
    item::decode_record(what, item).map(Box::new)
}

/// Returns the time of an item's expiry; `None` if it does not expire.
fn expiry(item: &Item) -> Option<Timestamp> {
    Timestamp::from_second(item::get_integer(item, "ttl")?).ok()
}

fn require_expiry(what: &'static str, item: &Item) -> PortResult<Timestamp> {
    expiry(item).ok_or_else(|| PortError::invalid(what, "a record without its time of expiry"))
}

fn parse_id<T, E>(what: &'static str, text: &str, parse: impl Fn(&str) -> Result<T, E>) -> PortResult<T> {
    parse(text).map_err(|_| PortError::invalid(what, "a key with a damaged id"))
}

fn parse_delivery_key(what: &'static str, text: &str) -> PortResult<DeliveryKey> {
    let text = serde_json::Value::String(text.to_owned());
    serde_json::from_value(text).map_err(|error| PortError::invalid(what, error))
}

fn parse_moved_delivery(what: &'static str, key: &str, item: &Item) -> PortResult<MovedRecord> {
    let is_erased = item.contains_key(ERASED);
    let record = (!is_erased).then(|| parse_delivery(what, item)).transpose()?;
    let is_waited_for = record.as_ref().is_some_and(|record| record.status.is_none());
    let delivery = MovedDelivery {
        key: parse_delivery_key(what, key)?,
        record,
        awaited: parse_awaited(item).filter(|_| is_waited_for),
        expires: require_expiry(what, item)?,
    };
    Ok(MovedRecord::Delivery(Box::new(delivery.normalize_record())))
}

fn parse_of_instance(what: &'static str, (id, sk): (&str, &str), item: &Item) -> PortResult<MovedRecord> {
    let instance = parse_id(what, id, InstanceId::parse)?;
    Ok(if sk == STATE {
        let record = item::decode_record(what, item)?;
        MovedRecord::InstanceState(Box::new(OfInstance { instance, record }))
    } else if sk.starts_with(PARK) {
        MovedRecord::Parked(decode(what, item)?)
    } else if sk.starts_with(FLY) {
        let record = item::decode_record(what, item)?;
        MovedRecord::InFlight(Box::new(OfInstance { instance, record }))
    } else {
        let why = "a record of an instance that is not known";
        return Err(PortError::invalid(what, why));
    })
}

/// Makes the record of the identity key. While an import runs the key may not be there yet.
fn parse_moved_key(what: &'static str, item: &Item) -> PortResult<Vec<MovedRecord>> {
    let is_taking = item.contains_key(TAKING) && item::get_integer(item, FORMAT) == Some(UNFINISHED_FORMAT);
    let key = if is_taking {
        item::get_string(item, KEY).map(str::to_owned)
    } else {
        Some(parse_identity_key(what, item)?.to_hex())
    };
    let record = key.map(|key| MovedRecord::IdentityKey(Box::new(MovedIdentityKey { key })));
    Ok(record.into_iter().collect())
}

/// Makes the records of published events. The installation's log has the events of all tenants; notes of what is published are for the
/// stream of this table alone, and push connections are the gateway's.
fn parse_event_log(
    what: &'static str,
    (kind, tenant): (&str, &str),
    item: &Item,
) -> PortResult<Vec<MovedRecord>> {
    if kind != "Z" || !tenant.is_empty() {
        return Ok(Vec::new());
    }
    let events = parse_logged(what, item, EventCursor::START)?.into_iter();
    let events = events.map(|logged| MovedPublishedEvent {
        cursor: logged.cursor,
        event: logged.event,
    });
    let records = events.map(|event| MovedRecord::PublishedEvent(Box::new(event)));
    Ok(records.collect())
}
