//! The events that Lambda passes on from SQS and from the stream of a table, and the response to them: only the fields that are needed.
//! <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>
//! <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html>

use recado_aws::StreamRecord;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A batch of queue messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SqsEvent {
    /// Messages of the batch, in the queue's order.
    #[serde(rename = "Records", default)]
    pub records: Vec<SqsRecord>,
}

/// A queue message as Lambda passes it on.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsRecord {
    /// Id that names the message in the response. Never empty: an empty id there would fail the whole batch, and leaving
    /// a failed message out would acknowledge it. An event with such a message is refused as a whole.
    #[serde(deserialize_with = "not_empty")]
    pub message_id: String,
    /// Receipt handle with which the message's visibility is changed.
    #[serde(default)]
    pub receipt_handle: String,
    /// Body of the message.
    #[serde(default)]
    pub body: String,
    /// Attributes that SQS adds to the message.
    #[serde(default)]
    pub attributes: SqsAttributes,
    /// ARN of the queue from which the message comes.
    #[serde(default, rename = "eventSourceARN")]
    pub queue_arn: String,
}

impl std::fmt::Debug for SqsRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqsRecord")
            .field("message_id", &self.message_id)
            .finish_non_exhaustive()
    }
}

/// The attributes that SQS adds to a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SqsAttributes {
    /// Number of deliveries so far, this one included; a number as text.
    #[serde(default)]
    pub approximate_receive_count: String,
    /// FIFO group of the message; in a standard queue, a hint of the tenant. `None` if the sender set none.
    #[serde(default)]
    pub message_group_id: Option<String>,
}

impl SqsRecord {
    /// Returns the number of deliveries so far, this one included; 1 if SQS gives no readable number.
    pub fn receive_count(&self) -> u32 {
        self.attributes.approximate_receive_count.parse().unwrap_or(1)
    }
}

fn not_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        Err(serde::de::Error::custom("a message without an id"))
    } else {
        Ok(text)
    }
}

/// A batch of changes of the table, in the order of one shard of its stream.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct StreamEvent {
    /// The changes. Each is read by itself, as a [`StreamRecord`].
    #[serde(rename = "Records", default)]
    pub records: Vec<Value>,
}

impl StreamEvent {
    /// Returns the changes that can be read. One that cannot be read is logged and left out: it would hold up all behind it.
    pub fn into_changes(self) -> Vec<StreamRecord> {
        let read = |record| match serde_json::from_value(record) {
            Ok(change) => Some(change),
            Err(error) => {
                tracing::error!(%error, "a change of the stream cannot be read: nothing is published of it");
                None
            }
        };
        self.records.into_iter().filter_map(read).collect()
    }
}

/// The response to a batch: what is to come back. SQS deletes all other messages. Of a stream comes back what is named, and all
/// behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchResponse {
    /// Messages that are to come back, or the first change that is.
    pub batch_item_failures: Vec<BatchItemFailure>,
}

/// A message or a change that is to come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchItemFailure {
    /// Id of the message: its [`SqsRecord::message_id`]. Of a change its place in the stream.
    pub item_identifier: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_as_lambda_hands_it_over_is_read() {
        let event: SqsEvent = serde_json::from_value(json!({"Records": [{
            "messageId": "m1", "receiptHandle": "r1", "body": "{}", "md5OfBody": "x", "awsRegion": "us-east-1",
            "attributes": {"ApproximateReceiveCount": "3", "MessageGroupId": "g", "SentTimestamp": "1"},
            "messageAttributes": {}, "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:1:q",
        }]}))
        .unwrap();
        let record = &event.records[0];
        assert_eq!(
            (
                record.receive_count(),
                record.attributes.message_group_id.as_deref()
            ),
            (3, Some("g"))
        );
        assert_eq!(record.queue_arn, "arn:aws:sqs:us-east-1:1:q");
    }

    #[test]
    fn a_message_without_an_id_refuses_the_event() {
        for record in [json!({"messageId": "", "body": "{}"}), json!({"body": "{}"})] {
            assert!(serde_json::from_value::<SqsEvent>(json!({"Records": [record]})).is_err());
        }
    }

    #[test]
    fn the_response_is_spelt_as_lambda_reads_it() {
        let failure = BatchItemFailure {
            item_identifier: "m1".to_owned(),
        };
        let response = BatchResponse {
            batch_item_failures: vec![failure],
        };
        assert_eq!(
            serde_json::to_value(response).unwrap(),
            json!({"batchItemFailures": [{"itemIdentifier": "m1"}]})
        );
        assert_eq!(
            serde_json::to_value(BatchResponse::default()).unwrap(),
            json!({"batchItemFailures": []})
        );
    }
}
