//! Queues of the stack, seen past the functions.

use crate::bench::{Bench, eventually};
use aws_sdk_sqs::types::{
    Message, MessageSystemAttributeName as SystemAttribute, QueueAttributeName as Attribute,
};
use serde_json::Value;

/// Seconds for which a moved message is hidden. Others that were received with it are hidden for as long.
const HIDDEN_SECONDS: i32 = 10;

impl Bench {
    /// The message of a dead-letter queue whose body fits, once it is there. It stays there.
    pub(crate) async fn dead(&self, output: &str, fits: impl Fn(&str) -> bool) -> Message {
        let url = self.stack.output(output);
        let look = || async {
            let request = self
                .aws
                .sqs
                .receive_message()
                .queue_url(url)
                .max_number_of_messages(10);
            let request = request.visibility_timeout(0).message_attribute_names("All");
            let messages = request.send().await.unwrap().messages.unwrap_or_default();
            messages
                .into_iter()
                .find(|message| message.body.as_deref().is_some_and(&fits))
        };
        eventually("the copy in the dead-letter queue", look).await
    }

    /// Moves the message whose body fits out of a FIFO dead-letter queue, as SQS's redrive to a custom destination does: body,
    /// attributes, group and deduplication id stay. The emulator has no `StartMessageMoveTask`.
    pub(crate) async fn move_dead(&self, (from, to): (&str, &str), fits: impl Fn(&str) -> bool) -> Message {
        let (sqs, url) = (&self.aws.sqs, self.stack.output(from));
        let look = || async {
            let request = sqs.receive_message().queue_url(url).max_number_of_messages(10);
            let request = request
                .visibility_timeout(HIDDEN_SECONDS)
                .message_attribute_names("All")
                .message_system_attribute_names(SystemAttribute::All);
            let messages = request.send().await.unwrap().messages.unwrap_or_default();
            messages
                .into_iter()
                .find(|message| message.body.as_deref().is_some_and(&fits))
        };
        let message = eventually("the copy that is to be moved", look).await;
        let deduplication = system_attribute(&message, &SystemAttribute::MessageDeduplicationId);
        self.send_copy(to, &message, &deduplication).await;
        let receipt = message.receipt_handle.clone().unwrap();
        let removed = sqs.delete_message().queue_url(url).receipt_handle(receipt).send();
        removed.await.unwrap();
        message
    }

    /// Sends a message of a FIFO dead-letter queue to the queue `to`, in the group that it has.
    pub(crate) async fn send_copy(&self, to: &str, message: &Message, deduplication: &str) {
        let request = self
            .aws
            .sqs
            .send_message()
            .queue_url(self.stack.output(to))
            .set_message_body(message.body.clone())
            .set_message_attributes(message.message_attributes.clone())
            .message_group_id(system_attribute(message, &SystemAttribute::MessageGroupId))
            .message_deduplication_id(deduplication);
        request.send().await.unwrap();
    }

    /// The dead letter of the API that fits, once it is there.
    pub(crate) async fn dead_letter(&self, query: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let path = format!("/v1/dead-letters?limit=200&{query}");
        let look = || async {
            let list = self.get(&path).await;
            list["items"]
                .as_array()
                .unwrap()
                .iter()
                .find(|dead_letter| fits(dead_letter))
                .cloned()
        };
        eventually("the dead letter", look).await
    }

    /// Waits until nothing waits, is delayed or is being worked on in any queue.
    pub(crate) async fn quiet(&self) {
        let names = [
            Attribute::ApproximateNumberOfMessages,
            Attribute::ApproximateNumberOfMessagesNotVisible,
            Attribute::ApproximateNumberOfMessagesDelayed,
        ];
        eventually("quiet queues", || async {
            for output in ["InboundQueueUrl", "TurnsQueueUrl", "OutboundQueueUrl"] {
                let request = self
                    .aws
                    .sqs
                    .get_queue_attributes()
                    .queue_url(self.stack.output(output));
                let attributes = request
                    .set_attribute_names(Some(names.to_vec()))
                    .send()
                    .await
                    .unwrap()
                    .attributes;
                let attributes = attributes.unwrap();
                if names
                    .iter()
                    .any(|name| attributes.get(name).is_some_and(|count| count != "0"))
                {
                    return None;
                }
            }
            Some(())
        })
        .await;
    }
}

/// What SQS itself says of a received message.
fn system_attribute(message: &Message, name: &SystemAttribute) -> String {
    message.attributes.as_ref().unwrap()[name].clone()
}
