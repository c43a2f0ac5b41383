//! What is in the queues and in their dead-letter queues.

use super::AwsQueues;
use super::body::body;
use crate::error::{port_error, unbuilt};
use aws_sdk_sqs::types::{MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName};
use recado_domain::dead_letter::{DeadLetter, DeadWhat, QueueName};
use recado_domain::event::InboundJob;
use recado_domain::ids::hash_of;
use recado_domain::outbox::SendKick;
use recado_pipeline::ports::{Ambient, PortError, PortResult};

/// How much is in a queue, as SQS estimates it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// To be handed out.
    pub waiting: u64,
    /// Handed out and not acknowledged.
    pub in_flight: u64,
    /// Not to be handed out yet.
    pub delayed: u64,
}

/// A message of a dead-letter queue.
#[derive(Clone, PartialEq, Eq)]
pub struct DeadMessage {
    /// Its body, as it came.
    pub body: String,
    /// By what it is removed.
    pub receipt: String,
    /// How often the queue handed it out, this time included.
    pub receives: u32,
}

impl std::fmt::Debug for DeadMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeadMessage")
            .field("receives", &self.receives)
            .finish_non_exhaustive()
    }
}

impl<A: Ambient> AwsQueues<A> {
    /// How much is in a queue.
    pub async fn depth(&self, queue: QueueName) -> PortResult<Depth> {
        const WHAT: &str = "reading a queue's depth";
        self.depth_of(WHAT, self.config.queue_url(WHAT, queue)?).await
    }

    /// How much is in a queue's dead-letter queue.
    pub async fn dead_depth(&self, queue: QueueName) -> PortResult<Depth> {
        const WHAT: &str = "reading a dead-letter queue's depth";
        self.depth_of(WHAT, self.config.dlq_url(WHAT, queue)?).await
    }

    async fn depth_of(&self, what: &'static str, url: &str) -> PortResult<Depth> {
        use QueueAttributeName as Name;
        let names = [
            Name::ApproximateNumberOfMessages,
            Name::ApproximateNumberOfMessagesNotVisible,
            Name::ApproximateNumberOfMessagesDelayed,
        ];
        let request = self
            .clients
            .sqs
            .get_queue_attributes()
            .queue_url(url)
            .set_attribute_names(Some(names.into()));
        let attributes = request
            .send()
            .await
            .map_err(|error| port_error(what, &error))?
            .attributes;
        let attributes = attributes.unwrap_or_default();
        let number = |name| {
            attributes
                .get(&name)
                .and_then(|text: &String| text.parse().ok())
                .unwrap_or_default()
        };
        Ok(Depth {
            waiting: number(Name::ApproximateNumberOfMessages),
            in_flight: number(Name::ApproximateNumberOfMessagesNotVisible),
            delayed: number(Name::ApproximateNumberOfMessagesDelayed),
        })
    }

    /// At most ten messages of a queue's dead-letter queue, for `seconds` not to be handed out to anybody else.
    pub async fn receive_dead(&self, queue: QueueName, seconds: u32) -> PortResult<Vec<DeadMessage>> {
        const WHAT: &str = "reading a dead-letter queue";
        let request = self
            .clients
            .sqs
            .receive_message()
            .queue_url(self.config.dlq_url(WHAT, queue)?)
            .max_number_of_messages(10)
            .visibility_timeout(i32::try_from(seconds).unwrap_or(i32::MAX))
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount);
        let output = request.send().await.map_err(|error| port_error(WHAT, &error))?;
        let message = |message: aws_sdk_sqs::types::Message| {
            let counted = message.attributes.as_ref();
            let counted =
                counted.and_then(|all| all.get(&MessageSystemAttributeName::ApproximateReceiveCount));
            Some(DeadMessage {
                receives: counted.and_then(|count| count.parse().ok()).unwrap_or(1),
                body: message.body?,
                receipt: message.receipt_handle?,
            })
        };
        Ok(output
            .messages
            .unwrap_or_default()
            .into_iter()
            .filter_map(message)
            .collect())
    }

    /// Removes a message from a queue's dead-letter queue.
    pub async fn remove_dead(&self, queue: QueueName, receipt: &str) -> PortResult<()> {
        const WHAT: &str = "removing a message from a dead-letter queue";
        let request = self
            .clients
            .sqs
            .delete_message()
            .queue_url(self.config.dlq_url(WHAT, queue)?);
        request
            .receipt_handle(receipt)
            .send()
            .await
            .map(|_| ())
            .map_err(|error| port_error(WHAT, &error))
    }

    /// Puts the copy of a dead letter into its queue's dead-letter queue. SQS cannot replace an earlier copy; one of the
    /// same death inside five minutes is dropped.
    pub(super) async fn put_dead(&self, what: &'static str, letter: &DeadLetter) -> PortResult<()> {
        let (group, body) = copy(what, letter)?;
        let mut request = self
            .clients
            .sqs
            .send_message()
            .queue_url(self.config.dlq_url(what, letter.queue)?)
            .message_body(body);
        for (name, value) in beside(letter) {
            let attribute = MessageAttributeValue::builder()
                .data_type("String")
                .string_value(value);
            request =
                request.message_attributes(name, attribute.build().map_err(|error| unbuilt(what, error))?);
        }
        if letter.queue != QueueName::Turns {
            let death = hash_of(&["dead", &letter.id, &letter.at.as_millisecond().to_string()], 32);
            request = request
                .message_group_id(super::queue_id(&group))
                .message_deduplication_id(death);
        }
        request
            .send()
            .await
            .map(|_| ())
            .map_err(|error| port_error(what, &error))
    }
}

/// The group and the body of a dead letter's copy: what the queue itself would carry, marked for redrive, so that a
/// redrive in the console of AWS is one of ours.
fn copy(what: &'static str, letter: &DeadLetter) -> PortResult<(String, String)> {
    Ok(match &letter.what {
        DeadWhat::Event(job) => {
            let job = InboundJob {
                redrive: true,
                ..InboundJob::clone(job)
            };
            (job.group.clone(), body(what, &job)?)
        }
        DeadWhat::Message { message } => {
            let (conversation, upto) = message.parts().map_err(|error| PortError::invalid(what, error))?;
            let group = conversation.to_string();
            let correlation = letter.correlation.clone();
            let kick = SendKick {
                conversation,
                upto,
                correlation,
                redrive: Some(message.clone()),
            };
            (group, body(what, &kick)?)
        }
        DeadWhat::Unreadable { body } => ("unreadable".to_owned(), body.clone()),
    })
}

/// What is shown beside the body: no personal data.
fn beside(letter: &DeadLetter) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("id", letter.id.clone()),
        ("reason", letter.reason.to_string()),
        ("at", letter.at.to_string()),
        ("attempts", letter.attempts.to_string()),
        ("correlation_id", letter.correlation.to_string()),
    ];
    fields.extend(
        letter
            .instance
            .as_ref()
            .map(|instance| ("instance", instance.to_string())),
    );
    // An attribute must not be empty.
    fields.extend(
        letter
            .last_error
            .clone()
            .filter(|error| !error.is_empty())
            .map(|error| ("last_error", error)),
    );
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::ids::{CorrelationId, MessageId};
    use recado_domain::millis::instant;
    use recado_domain::reason::Reason;

    fn letter(what: DeadWhat) -> DeadLetter {
        DeadLetter {
            id: "x".to_owned(),
            queue: QueueName::Outbound,
            reason: Reason::Poison,
            at: instant(0),
            attempts: 3,
            last_error: Some(String::new()),
            correlation: CorrelationId::parse("r").unwrap(),
            instance: None,
            what,
        }
    }

    #[test]
    fn a_messages_copy_is_the_kick_that_revives_it() {
        let message = MessageId::parse("c_0123456789abcdef0123456789abcdef-1.7").unwrap();
        let (group, body) = copy(
            "test",
            &letter(DeadWhat::Message {
                message: message.clone(),
            }),
        )
        .unwrap();
        let kick: SendKick = serde_json::from_str(&body).unwrap();
        assert_eq!((kick.redrive, kick.upto.0), (Some(message), 7));
        assert_eq!(group, kick.conversation.to_string());
    }

    #[test]
    fn what_cannot_be_read_is_kept_as_it_came_and_no_attribute_is_empty() {
        let letter = letter(DeadWhat::Unreadable { body: "{".to_owned() });
        assert_eq!(copy("test", &letter).unwrap().1, "{");
        assert!(beside(&letter).iter().all(|(_, value)| !value.is_empty()));
    }
}
