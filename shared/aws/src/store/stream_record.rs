//! Records of the table's stream, as Lambda passes them on and as `GetRecords` of DynamoDB Streams returns them.

use super::item::Item;
use super::keys::TableKey;
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use recado_domain::millis::from_unix_millis;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// A change of one record of the table.
#[derive(Clone)]
pub struct StreamRecord {
    /// The id of the change: the same however often the change is passed on.
    pub id: String,
    /// The place of the change in its shard of the stream: a number of up to 40 digits.
    pub sequence: String,
    /// Time of the change, in whole seconds.
    pub at: Timestamp,
    pub(super) key: TableKey,
    /// The record before the change; `None` if there was none.
    pub(super) old: Option<Item>,
    /// The record after the change; `None` if it was deleted.
    pub(super) new: Option<Item>,
}

impl std::fmt::Debug for StreamRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("StreamRecord");
        shown.field("id", &self.id).field("sequence", &self.sequence);
        shown.finish_non_exhaustive()
    }
}

impl StreamRecord {
    /// Returns the partition key of the record. The changes of a partition come in the order in which they were made.
    pub fn partition_key(&self) -> &str {
        &self.key.pk
    }

    /// Returns whether the change comes later in its shard than the place `sequence`.
    pub(super) fn is_behind(&self, sequence: &str) -> bool {
        let digits = |text: &str| text.trim_start_matches('0').to_owned();
        let (own, other) = (digits(&self.sequence), digits(sequence));
        own.len().cmp(&other.len()).then_with(|| own.cmp(&other)) == Ordering::Greater
    }
}

#[derive(Deserialize)]
struct RawRecord {
    #[serde(rename = "eventID")]
    id: String,
    dynamodb: RawChange,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawChange {
    sequence_number: String,
    approximate_creation_date_time: f64,
    keys: RawItem,
    #[serde(default)]
    new_image: Option<RawItem>,
    #[serde(default)]
    old_image: Option<RawItem>,
}

/// An item in the JSON of DynamoDB, with a name of each attribute's type.
struct RawItem(Item);

impl<'de> Deserialize<'de> for RawItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        let item = parse_item(&fields);
        item.map(Self)
            .ok_or_else(|| serde::de::Error::custom("an attribute of a type that Recado does not write"))
    }
}

fn parse_item(fields: &Map<String, Value>) -> Option<Item> {
    let one = |(name, value)| Some((String::clone(name), parse_attribute(value)?));
    fields.iter().map(one).collect()
}

fn parse_attribute(value: &Value) -> Option<AttributeValue> {
    let (kind, value) = value.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "S" => AttributeValue::S(value.as_str()?.to_owned()),
        "N" => AttributeValue::N(value.as_str()?.to_owned()),
        "BOOL" => AttributeValue::Bool(value.as_bool()?),
        "NULL" => AttributeValue::Null(true),
        "L" => AttributeValue::L(
            value
                .as_array()?
                .iter()
                .map(parse_attribute)
                .collect::<Option<_>>()?,
        ),
        "M" => AttributeValue::M(parse_item(value.as_object()?)?),
        _ => return None,
    })
}

impl<'de> Deserialize<'de> for StreamRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RawRecord { id, dynamodb: change } = RawRecord::deserialize(deserializer)?;
        let key = TableKey::from_item(&change.keys.0);
        let key = key.ok_or_else(|| serde::de::Error::custom("the key of a record is incomplete"))?;
        // Whole seconds of the distant future at most: the cast saturates.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a time in seconds has no fraction that counts"
        )]
        let millis = (change.approximate_creation_date_time * 1000.0) as i64;
        Ok(Self {
            id,
            sequence: change.sequence_number,
            at: from_unix_millis(millis),
            key,
            old: change.old_image.map(|image| image.0),
            new: change.new_image.map(|image| image.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(sequence: &str, image: &Value) -> Result<StreamRecord, serde_json::Error> {
        serde_json::from_value(json!({
            "eventID": "e1", "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1", "eventSourceARN": "arn:aws:dynamodb:us-east-1:1:table/t/stream/x",
            "dynamodb": {"ApproximateCreationDateTime": 1_764_243_000, "SequenceNumber": sequence, "SizeBytes": 9,
                "Keys": {"pk": {"S": "C#x"}, "sk": {"S": "1"}}, "NewImage": image,
                "StreamViewType": "NEW_AND_OLD_IMAGES"},
        }))
    }

    #[test]
    fn a_change_as_lambda_passes_it_on_is_read() {
        let image = json!({"pk": {"S": "C#x"}, "n": {"N": "7"}, "is": {"BOOL": true}, "no": {"NULL": true},
            "list": {"L": [{"S": "a"}]}, "map": {"M": {"b": {"N": "1"}}}});
        let read = record("100", &image).unwrap();
        let new = read.new.unwrap();
        assert_eq!(new["n"], AttributeValue::N("7".to_owned()));
        assert_eq!(
            new["list"],
            AttributeValue::L(vec![AttributeValue::S("a".to_owned())])
        );
        assert_eq!((read.old, read.at.as_second()), (None, 1_764_243_000));
    }

    #[test]
    fn an_attribute_of_a_foreign_type_is_an_error_and_no_panic() {
        for foreign in [json!({"SS": ["a"]}), json!({}), json!("a"), json!({"N": 1})] {
            assert!(record("1", &json!({"a": foreign})).is_err(), "{foreign}");
        }
    }

    #[test]
    fn places_in_the_stream_are_compared_as_numbers() {
        let ninth = record("000000000000000000009", &json!({})).unwrap();
        assert!(!ninth.is_behind("10") && !ninth.is_behind("9") && ninth.is_behind("8"));
    }
}
