//! The tables whose rows are records that move, each with its key and how a row is read.

use super::super::deliveries::ERASED_DELIVERY;
use super::super::identity::IDENTITY_KEY;
use super::super::unacknowledged::parse_owner;
use super::super::usage::{SUM_COLUMNS, parse_usage_sum};
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{count_from_sql, decode_column, decode_json};
use jiff::Timestamp;
use recado_domain::delivery::{AwaitedAcknowledgement, DeliveryKey};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::from_unix_millis;
use recado_domain::moving::{
    Dated, MovedDelivery, MovedEvent, MovedIdentityKey, MovedPublishedEvent, MovedRecord, OfInstance,
    TableRecord,
};
use recado_domain::published_event::EventCursor;
use recado_ports::table::Kind;
use rusqlite::Row;
use serde::de::DeserializeOwned;

type ParsedRow = DbResult<Option<MovedRecord>>;

/// A table whose rows are records that move.
pub(super) struct MovedTable {
    /// The name in the database.
    pub(super) name: &'static str,
    /// The columns that name a row, and by which rows are read in order.
    pub(super) key: &'static [&'static str],
    /// The columns that the record is made of.
    pub(super) columns: &'static str,
    /// Makes the record, given the kinds of the table `records`; `None` if the row is none that moves.
    pub(super) parse: fn(&Row<'_>, &[Kind]) -> ParsedRow,
}

/// Makes a table whose column `body` is the record.
macro_rules! whole {
    ($name:literal, $key:expr, $kind:ident) => {
        MovedTable {
            name: $name,
            key: $key,
            columns: "body",
            parse: |row, _| Ok(Some(MovedRecord::$kind(parse_body(row)?))),
        }
    };
}

/// Makes a table whose rows are read by a function.
macro_rules! parsed {
    ($name:literal, $key:expr, $columns:expr, $parse:ident) => {
        MovedTable {
            name: $name,
            key: $key,
            columns: $columns,
            parse: |row, _| $parse(row),
        }
    };
}

/// All of them.
pub(super) const TABLES: &[MovedTable] = &[
    parsed!("installation", &["name"], "name, value", parse_installation),
    parsed!("instance_states", &["id"], "body, id", parse_state),
    whole!("conversations", &["id"], Conversation),
    whole!("messages", &["seq"], Message),
    parsed!("events", &["seq"], "body, expires", parse_event),
    parsed!(
        "deliveries",
        &["key"],
        "body, key, expires, ack_owner, ack_since, ack_due",
        parse_delivery
    ),
    parsed!(
        "in_flight",
        &["instance", "message", "nonce"],
        "body, instance",
        parse_in_flight
    ),
    whole!("parked", &["instance", "conversation"], Parked),
    parsed!(
        "usage",
        &["tenant", "day", "agent", "model", "country"],
        SUM_COLUMNS,
        parse_usage
    ),
    MovedTable {
        name: "records",
        key: &["partition", "sort"],
        columns: "body",
        parse: parse_item,
    },
    parsed!("published_events", &["seq"], "body, seq", parse_published),
];

/// Tables that do not move: the queues, whose messages the records replace, and what this store makes of other records.
#[cfg(test)]
pub(super) const UNMOVED_TABLES: [&str; 16] = [
    "contact_words",
    "contact_words_config",
    "contact_words_content",
    "contact_words_data",
    "contact_words_docsize",
    "contact_words_idx",
    "queue_messages",
    "queue_groups",
    "queue_dedup",
    "conversation_labels",
    "message_words",
    "message_words_config",
    "message_words_content",
    "message_words_data",
    "message_words_docsize",
    "message_words_idx",
];

/// Reads the column `body`, which is the first.
fn parse_body<T: DeserializeOwned>(row: &Row<'_>) -> DbResult<Box<T>> {
    decode_column(row, 0)
}

fn parse_time(row: &Row<'_>, column: &str) -> DbResult<Timestamp> {
    Ok(from_unix_millis(row.get(column)?))
}

/// Reads an id of a column.
fn parse_id<T, E>(row: &Row<'_>, column: &str, parse: impl Fn(&str) -> Result<T, E>) -> DbResult<T> {
    let text: String = row.get(column)?;
    parse(&text).map_err(|_| DbError::Argument("a damaged id"))
}

fn parse_installation(row: &Row<'_>) -> ParsedRow {
    let (name, value): (String, String) = (row.get("name")?, row.get("value")?);
    let key = (name == IDENTITY_KEY).then(|| Box::new(MovedIdentityKey { key: value }));
    Ok(key.map(MovedRecord::IdentityKey))
}

fn parse_of_instance<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> DbResult<Box<OfInstance<T>>> {
    Ok(Box::new(OfInstance {
        instance: parse_id(row, column, InstanceId::parse)?,
        record: *parse_body(row)?,
    }))
}

fn parse_state(row: &Row<'_>) -> ParsedRow {
    Ok(Some(MovedRecord::InstanceState(parse_of_instance(row, "id")?)))
}

fn parse_event(row: &Row<'_>) -> ParsedRow {
    let expires: Option<i64> = row.get("expires")?;
    let event = MovedEvent::new(*parse_body(row)?, expires.map(from_unix_millis));
    Ok(Some(MovedRecord::Event(Box::new(event))))
}

/// Reads a key of a delivery, which is a text of its own form.
fn parse_delivery_key(text: String) -> DbResult<DeliveryKey> {
    Ok(serde_json::from_value(serde_json::Value::String(text))?)
}

fn parse_awaited(row: &Row<'_>) -> DbResult<Option<AwaitedAcknowledgement>> {
    let Some(owner) = row.get::<_, Option<String>>("ack_owner")? else {
        return Ok(None);
    };
    let (tenant, instance) = parse_owner(&owner)?;
    Ok(Some(AwaitedAcknowledgement {
        tenant,
        instance,
        accepted_at: parse_time(row, "ack_since")?,
        due: parse_time(row, "ack_due")?,
    }))
}

fn parse_delivery(row: &Row<'_>) -> ParsedRow {
    let body: String = row.get("body")?;
    let delivery = MovedDelivery {
        key: parse_delivery_key(row.get("key")?)?,
        record: (body != ERASED_DELIVERY)
            .then(|| decode_json(&body))
            .transpose()?,
        awaited: parse_awaited(row)?,
        expires: parse_time(row, "expires")?,
    };
    Ok(Some(MovedRecord::Delivery(Box::new(delivery.normalize_record()))))
}

fn parse_in_flight(row: &Row<'_>) -> ParsedRow {
    Ok(Some(MovedRecord::InFlight(parse_of_instance(row, "instance")?)))
}

fn parse_usage(row: &Row<'_>) -> ParsedRow {
    let tenant = parse_id(row, "tenant", TenantId::parse)?;
    let sum = Dated::new(parse_usage_sum(&tenant, row)?, parse_time(row, "expires")?);
    Ok(Some(MovedRecord::Usage(Box::new(sum))))
}

fn parse_published(row: &Row<'_>) -> ParsedRow {
    let event = MovedPublishedEvent {
        cursor: EventCursor(count_from_sql(row.get("seq")?)),
        event: *parse_body(row)?,
    };
    Ok(Some(MovedRecord::PublishedEvent(Box::new(event))))
}

/// Reads an item of the table. One that leads to a record does not move: it is made with the record. Nor does one of a kind that means
/// nothing elsewhere.
fn parse_item(row: &Row<'_>, kinds: &[Kind]) -> ParsedRow {
    let partition: String = row.get("partition")?;
    let name = partition.split('#').next().unwrap_or_default();
    let Some(kind) = kinds.iter().find(|kind| kind.name == name) else {
        let is_index = kinds.iter().any(|kind| kind.indexes.contains(&name));
        let unknown = DbError::Argument("a record of an unknown kind");
        return if is_index { Ok(None) } else { Err(unknown) };
    };
    if !kind.is_moved {
        return Ok(None);
    }
    let body: String = row.get("body")?;
    let readable = kind.put_writes(&body);
    readable.map_err(|_| DbError::Argument("a record that its kind cannot read"))?;
    let kind = kind.name;
    Ok(Some(MovedRecord::OfTable(TableRecord { kind, body })))
}
