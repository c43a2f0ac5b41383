//! Queues of the stack, seen past the functions.

use crate::bench::{Bench, eventually};
use aws_sdk_sqs::types::{Message, QueueAttributeName as Attribute};
use serde_json::Value;

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
