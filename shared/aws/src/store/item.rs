//! Encodes records as `DynamoDB` items: the JSON that serde makes of a domain struct, attribute by attribute.
//!
//! Values of a provider (a webhook's body, a message that Recado does not know) are arbitrary JSON: deeper than the 32
//! levels an item may have, with empty keys, with numbers of any size. Each is stored as one string.
//!
//! The crate `serde_dynamo` would replace a third of this, the part that turns values into attributes, and need a pass over each record for
//! such strings, for numbers of more than 38 digits and for `null`, which is left out.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use recado_ports::ports::{PortError, PortResult};
pub(crate) use recado_ports::unreadable_record::keep_readable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use std::borrow::Borrow;
use std::collections::HashMap;

/// A `DynamoDB` item.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// Fields of domain structs that hold arbitrary JSON: a null in it is a value. Each is stored as one string, wherever it occurs.
const OPAQUE: [&str; 7] = [
    "payload",
    "raw",
    "answers",
    "components",
    "details",
    "arguments",
    "http",
];

/// Attributes that are stored beside a record's own fields: keys, indexes, expiry, and values that conditions need at
/// the top level.
const INDEX_ATTRIBUTES: [&str; 22] = [
    "pk",
    "sk",
    "ttl",
    "expires",
    "open_shard",
    "open_due",
    "list_key",
    "list_at",
    "tenant_list",
    "tenant_at",
    "active_shard",
    "active_at",
    "out_rev",
    "rank",
    "trace",
    "trace_of",
    "counted_by",
    "entry_hash",
    "touched",
    MOVED,
    CONNECTION_CHANGED,
    PAST_SENT,
];

/// The attribute of a record that another store wrote first. Its insertion is no change that is published.
pub(crate) const MOVED: &str = "moved";

/// The attribute of an instance's state whose last write changed the connection. The filter of `publisher` lets no other state through:
/// a slot is reserved in the same record at every send, and tells nothing.
pub(crate) const CONNECTION_CHANGED: &str = "connection_changed";

/// The attribute of a delivery that has a status past `sent`. The filter of `publisher` lets no other delivery through.
pub(crate) const PAST_SENT: &str = "past_sent";

/// Makes a string attribute.
pub(crate) fn text_attribute(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// Makes a number attribute.
pub(crate) fn number_attribute(number: impl ToString + Copy) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// Encodes a record as an item, without keys.
pub(crate) fn encode_record<T: Serialize>(what: &'static str, record: &T) -> PortResult<Item> {
    match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => Ok(encode_fields(fields)),
        Ok(_) => Err(PortError::invalid(what, "the record is not an object")),
        Err(error) => Err(PortError::invalid(what, error)),
    }
}

/// Encodes a part of a record as an attribute.
pub(crate) fn encode_part<T: Serialize>(what: &'static str, part: &T) -> PortResult<AttributeValue> {
    let value = serde_json::to_value(part).map_err(|error| PortError::invalid(what, error))?;
    Ok(encode_value(value).unwrap_or(AttributeValue::Null(true)))
}

/// Decodes the record of an item.
pub(crate) fn decode_record<T: DeserializeOwned>(what: &'static str, item: &Item) -> PortResult<T> {
    parse_fields(what, decode_fields(what, item)?)
}

/// Decodes the records of those of several items that [can be read](keep_readable).
pub(crate) fn decode_readable<T: DeserializeOwned>(
    what: &'static str,
    items: impl IntoIterator<Item: Borrow<Item>>,
) -> Vec<T> {
    let items = items.into_iter();
    items
        .filter_map(|item| keep_readable(decode_record(what, item.borrow())))
        .collect()
}

/// Decodes the fields of an item's record. Keys and index attributes are left out: some records refuse unknown fields.
pub(crate) fn decode_fields(what: &'static str, item: &Item) -> PortResult<Map<String, Value>> {
    let is_field = |name: &str| !INDEX_ATTRIBUTES.contains(&name);
    item.iter()
        .filter(|(name, _)| is_field(name))
        .map(|(name, attribute)| Ok((name.clone(), decode_field(what, name, attribute)?)))
        .collect()
}

/// Parses a record, given its fields.
pub(crate) fn parse_fields<T: DeserializeOwned>(
    what: &'static str,
    fields: Map<String, Value>,
) -> PortResult<T> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| PortError::invalid(what, error))
}

/// Returns the text of a string attribute. `None` if there is no such attribute.
pub(crate) fn get_string<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)
        .and_then(|attribute| attribute.as_s().ok())
        .map(String::as_str)
}

/// Returns the value of a number attribute. `None` if it is absent or not a whole number.
pub(crate) fn get_integer(item: &Item, name: &str) -> Option<i64> {
    item.get(name)
        .and_then(|attribute| attribute.as_n().ok())
        .and_then(|digits| digits.parse().ok())
}

/// Returns the revision of a stored record, whether the rest can be read or not.
pub(crate) fn stored_revision(item: &Item) -> u64 {
    let rev = get_integer(item, "rev").and_then(|rev| u64::try_from(rev).ok());
    rev.unwrap_or_default()
}

/// Returns the item, unless it has expired. `DynamoDB` removes expired items hours late, so an expired one counts as
/// gone.
pub(crate) fn unexpired(item: Item, now: Timestamp) -> Option<Item> {
    let expired = get_integer(&item, "ttl").is_some_and(|ttl| ttl < now.as_second());
    (!expired).then_some(item)
}

fn encode_fields(fields: Map<String, Value>) -> Item {
    let one = |(name, value): (String, Value)| {
        let attribute = if OPAQUE.contains(&name.as_str()) {
            Some(AttributeValue::S(value.to_string()))
        } else {
            encode_value(value)
        };
        attribute.map(|attribute| (name, attribute))
    };
    fields.into_iter().filter_map(one).collect()
}

/// Encodes a value. `None` for null: an absent attribute means the same in fewer bytes.
fn encode_value(value: Value) -> Option<AttributeValue> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => AttributeValue::Bool(flag),
        Value::Number(digits) => AttributeValue::N(digits.to_string()),
        Value::String(text) => AttributeValue::S(text),
        // The places in a list count, so a null in it stays.
        Value::Array(list) => AttributeValue::L(
            list.into_iter()
                .map(|value| encode_value(value).unwrap_or(AttributeValue::Null(true)))
                .collect(),
        ),
        Value::Object(fields) => AttributeValue::M(encode_fields(fields)),
    })
}

fn decode_field(what: &'static str, name: &str, attribute: &AttributeValue) -> PortResult<Value> {
    match attribute {
        AttributeValue::S(json) if OPAQUE.contains(&name) => {
            serde_json::from_str(json).map_err(|error| PortError::invalid(what, error))
        }
        attribute => decode_value(what, attribute),
    }
}

fn decode_value(what: &'static str, attribute: &AttributeValue) -> PortResult<Value> {
    Ok(match attribute {
        AttributeValue::S(text) => Value::String(text.clone()),
        AttributeValue::N(digits) => Value::Number(parse_number(what, digits)?),
        AttributeValue::Bool(flag) => Value::Bool(*flag),
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::L(list) => Value::Array(
            list.iter()
                .map(|attribute| decode_value(what, attribute))
                .collect::<PortResult<_>>()?,
        ),
        AttributeValue::M(fields) => {
            let one = |(name, attribute): (&String, &AttributeValue)| {
                Ok((name.clone(), decode_field(what, name, attribute)?))
            };
            Value::Object(fields.iter().map(one).collect::<PortResult<_>>()?)
        }
        _ => {
            let why = "an attribute of a type that Recado does not write";
            return Err(PortError::invalid(what, why));
        }
    })
}

/// Parses a number. `DynamoDB` keeps numbers as decimals and returns `1` for `1.0`.
fn parse_number(what: &'static str, digits: &str) -> PortResult<Number> {
    let signed = digits.parse::<i64>().ok().map(Number::from);
    let unsigned = || digits.parse::<u64>().ok().map(Number::from);
    let fraction = || digits.parse::<f64>().ok().and_then(Number::from_f64);
    signed
        .or_else(unsigned)
        .or_else(fraction)
        .ok_or_else(|| PortError::invalid(what, "a number that cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn round(value: &Value) -> Value {
        decode_record("test", &encode_record("test", value).unwrap()).unwrap()
    }

    #[test]
    fn a_record_survives_being_written_and_read() {
        let record = json!({
            "name": "Ana", "empty": "", "count": 18_446_744_073_709_551_615_u64, "below": -3, "part": 0.5,
            "flag": false, "list": ["a", null, 1], "map": {"deep": {"er": []}},
        });
        assert_eq!(round(&record), record);
    }

    #[test]
    fn nulls_are_dropped_and_a_number_without_a_fraction_is_still_a_number() {
        let item = encode_record("test", &json!({"gone": null, "rate": 1.0})).unwrap();
        assert!(!item.contains_key("gone"));
        let back: HashMap<String, f64> = decode_record(
            "test",
            &HashMap::from([("rate".to_owned(), number_attribute("1"))]),
        )
        .unwrap();
        assert!((back["rate"] - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_providers_json_is_one_string_however_deep_and_odd_it_is() {
        let mut deep = json!({"": "empty key", "big": 1e300, "null": null});
        for _ in 0..60 {
            deep = json!({ "in": deep });
        }
        let record = json!({"payload": {"inline": deep}, "content": {"type": "unsupported", "raw": deep}});
        let item = encode_record("test", &record).unwrap();
        assert!(item["payload"].is_s());
        assert!(item["content"].as_m().unwrap()["raw"].is_s());
        assert_eq!(round(&record), record);
    }

    #[test]
    fn keys_and_index_attributes_are_not_part_of_the_record() {
        let mut item = encode_record("test", &json!({"id": "a"})).unwrap();
        item.extend(INDEX_ATTRIBUTES.map(|name| (name.to_owned(), number_attribute(1))));
        assert_eq!(decode_record::<Value>("test", &item).unwrap(), json!({"id": "a"}));
    }

    #[test]
    fn an_attribute_of_a_foreign_type_is_an_error_and_no_panic() {
        let item = HashMap::from([("set".to_owned(), AttributeValue::Ss(vec!["a".to_owned()]))]);
        assert!(decode_record::<Value>("test", &item).is_err());
    }
}
