//! What Lambda hands over from SQS and takes back: only the fields that are needed
//! (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>).

use serde::{Deserialize, Deserializer, Serialize};

/// A batch of queue messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SqsEvent {
    /// The messages, in the queue's order.
    #[serde(rename = "Records", default)]
    pub records: Vec<SqsRecord>,
}

/// A queue message.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsRecord {
    /// By what it is named in the response. Never empty: an empty identifier there would fail the whole batch, and
    /// leaving a failed message out would acknowledge it. An event with such a message is refused as a whole.
    #[serde(deserialize_with = "not_empty")]
    pub message_id: String,
    /// By what its visibility is changed.
    #[serde(default)]
    pub receipt_handle: String,
    /// What was sent.
    #[serde(default)]
    pub body: String,
    /// What SQS says of it.
    #[serde(default)]
    pub attributes: SqsAttributes,
    /// The ARN of the queue that it comes from.
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

/// What SQS says of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SqsAttributes {
    /// How often it was handed out, this time included; a number as text.
    #[serde(default)]
    pub approximate_receive_count: String,
    /// Its group.
    #[serde(default)]
    pub message_group_id: Option<String>,
}

impl SqsRecord {
    /// How often it was handed out, this time included.
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

/// Which messages are to come back. All others are acknowledged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsBatchResponse {
    /// The messages that come back.
    pub batch_item_failures: Vec<BatchItemFailure>,
}

/// A message that comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchItemFailure {
    /// Its [`SqsRecord::message_id`].
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
        let response = SqsBatchResponse {
            batch_item_failures: vec![failure],
        };
        assert_eq!(
            serde_json::to_value(response).unwrap(),
            json!({"batchItemFailures": [{"itemIdentifier": "m1"}]})
        );
        assert_eq!(
            serde_json::to_value(SqsBatchResponse::default()).unwrap(),
            json!({"batchItemFailures": []})
        );
    }
}
