//! Reads and writes the dead-letter queues, and reads the depth of every queue.

use super::AwsQueues;
use super::message_body::encode_body;
use crate::error::{invalid_request, none_if_missing, port_error};
use async_trait::async_trait;
use aws_sdk_sqs::types::{MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName};
use recado_domain::dead_letter::{
    DeadLetter, DeadLetterContent, QueueName, RedrivenLetter, UNREADABLE_GROUP,
};
use recado_domain::ids::{TokenName, hash_parts};
use recado_domain::millis;
use recado_ports::ports::{
    DeadLetterQueues, DeadQueueLook, DeadQueueMessage, PortError, PortResult, QueueDepth, QueueDepths, System,
};

/// Time for which a received dead message is hidden, in seconds. Short, since a person who looks into the queue, or
/// moves its messages, must not miss it for long.
const HIDDEN_SECONDS: i32 = 5;

#[async_trait]
impl<A: System + 'static> QueueDepths for AwsQueues<A> {
    async fn read_queue_depth(&self, queue: QueueName) -> PortResult<QueueDepth> {
        const WHAT: &str = "reading a queue's depth";
        let url = self.config.queue_url(WHAT, queue)?;
        self.read_depth_at(WHAT, url).await
    }
}

impl<A: System> AwsQueues<A> {
    /// Reads how many messages the queue at `url` holds.
    async fn read_depth_at(&self, what: &'static str, url: &str) -> PortResult<QueueDepth> {
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
        let output = request.send().await.map_err(|error| port_error(what, &error))?;
        let attributes = output.attributes.unwrap_or_default();
        let number = |name| {
            attributes
                .get(&name)
                .and_then(|text: &String| text.parse().ok())
                .unwrap_or_default()
        };
        Ok(QueueDepth {
            waiting: number(Name::ApproximateNumberOfMessages),
            in_flight: number(Name::ApproximateNumberOfMessagesNotVisible),
            delayed: number(Name::ApproximateNumberOfMessagesDelayed),
            oldest: None,
        })
    }

    /// Sends the copy of a dead letter to its queue's dead-letter queue. SQS cannot replace an earlier copy. In a FIFO
    /// queue, another copy of the same failure within five minutes is dropped.
    pub(super) async fn put_dead_letter_copy(
        &self,
        what: &'static str,
        dead_letter: &DeadLetter,
    ) -> PortResult<()> {
        let (group, body) = build_copy(what, dead_letter, None)?;
        let mut request = self.begin_message(self.config.dlq_url(what, dead_letter.queue)?, body);
        for (name, value) in copy_attributes(dead_letter) {
            let attribute = MessageAttributeValue::builder()
                .data_type("String")
                .string_value(value);
            let attribute = attribute.build().map_err(|error| invalid_request(what, error))?;
            request = request.message_attributes(name, attribute);
        }
        if dead_letter.queue != QueueName::Turns {
            let at = dead_letter.at.as_millisecond().to_string();
            let death = hash_parts(&["dead", &dead_letter.id, &at], 32);
            request = request
                .message_group_id(copy_group_id(&group))
                .message_deduplication_id(death);
        }
        let sent = request.send().await;
        sent.map(drop).map_err(|error| port_error(what, &error))
    }
}

/// Returns the FIFO group of the copies of a group. Messages that SQS itself moved keep their group, and must not wait
/// behind copies: of a group no more than the first ten are handed out. A copy that SQS's own redrive moves keeps this group, so its
/// job runs beside those of the copied group: conditional writes make that safe.
fn copy_group_id(group: &str) -> String {
    super::queue_id(&format!("copies-{group}"))
}

/// Returns the group and the body of a dead letter's copy. The body is the message that the queue itself would carry,
/// marked as a redrive, so that SQS's own redrive to the source queue works like Recado's. SQS must be told that queue: it knows
/// the source only of what it moved itself.
fn build_copy(
    what: &'static str,
    dead_letter: &DeadLetter,
    by: Option<&TokenName>,
) -> PortResult<(String, String)> {
    let carried = dead_letter
        .build_redrive_payload(by)
        .map_err(|error| PortError::invalid(what, error))?;
    match (carried, &dead_letter.what) {
        (Some((group, carried)), _) => Ok((group, encode_body(what, &carried)?)),
        (None, DeadLetterContent::Unreadable { body }) => Ok((UNREADABLE_GROUP.to_owned(), body.clone())),
        (None, _) => Err(PortError::invalid(what, "a dead letter of nothing")),
    }
}

/// Parses a message of a dead-letter queue. `None` for a message without a body or a receipt.
fn parse_dead_message(queue: QueueName, message: aws_sdk_sqs::types::Message) -> Option<DeadQueueMessage> {
    let beside = message.message_attributes.unwrap_or_default();
    let field = |name: &str| beside.get(name)?.string_value.clone();
    let failed_at = field("at").and_then(|at| at.parse().ok());
    let copy_of = field("id")
        .zip(failed_at)
        .map(|(dead_letter, failed_at)| RedrivenLetter {
            dead_letter,
            failed_at,
        });
    let system = message.attributes.unwrap_or_default();
    let sent_at = system.get(&MessageSystemAttributeName::SentTimestamp);
    let sent_at = sent_at.and_then(|at| at.parse().ok()).unwrap_or_default();
    Some(DeadQueueMessage {
        queue,
        body: message.body?,
        sent_at: millis::from_unix_millis(sent_at),
        copy_of,
        receipt: message.receipt_handle?,
    })
}

#[async_trait]
impl<A: System> DeadLetterQueues for AwsQueues<A> {
    async fn receive_dead_messages(&self, queue: QueueName) -> PortResult<Vec<DeadQueueMessage>> {
        const WHAT: &str = "reading a dead-letter queue";
        let request = self
            .clients
            .sqs
            .receive_message()
            .queue_url(self.config.dlq_url(WHAT, queue)?)
            .max_number_of_messages(10)
            .visibility_timeout(HIDDEN_SECONDS)
            .message_attribute_names("id")
            .message_attribute_names("at")
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp);
        let output = request.send().await.map_err(|error| port_error(WHAT, &error))?;
        let messages = output.messages.unwrap_or_default().into_iter();
        Ok(messages
            .filter_map(|message| parse_dead_message(queue, message))
            .collect())
    }

    async fn plan_dead_look(&self, queue: QueueName) -> PortResult<DeadQueueLook> {
        const WHAT: &str = "counting the messages of a dead-letter queue";
        let now = self.system.now();
        if !self.dead_looks.is_count_due(queue, now) {
            return Ok(DeadQueueLook::Skip);
        }
        let url = self.config.dlq_url(WHAT, queue)?;
        let count = self.read_depth_at(WHAT, url).await?.total_messages();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(self.dead_looks.plan_look(queue, count, now))
    }

    fn note_dead_look(&self, queue: QueueName, seen: usize, gone: usize) {
        self.dead_looks.note_look(queue, seen, gone);
    }

    async fn remove_dead_message(&self, copy: &DeadQueueMessage) -> PortResult<()> {
        const WHAT: &str = "removing a message from a dead-letter queue";
        let request = self
            .clients
            .sqs
            .delete_message()
            .queue_url(self.config.dlq_url(WHAT, copy.queue)?)
            .receipt_handle(&copy.receipt);
        // With a receipt that is no longer valid, the message is gone already: it was removed by it before, or by another.
        none_if_missing(WHAT, "ReceiptHandleIsInvalid", request.send().await).map(drop)
    }

    async fn enqueue_redrive(
        &self,
        dead_letter: &DeadLetter,
        by: &TokenName,
        deduplication: &str,
    ) -> PortResult<()> {
        const WHAT: &str = "redriving a dead letter";
        let (group, body) = build_copy(WHAT, dead_letter, Some(by))?;
        let url = self.config.queue_url(WHAT, dead_letter.queue)?;
        let mut request = self
            .begin_message(url, body)
            .message_group_id(super::queue_id(&group));
        if dead_letter.queue != QueueName::Turns {
            request = request.message_deduplication_id(super::queue_id(deduplication));
        }
        let sent = request.send().await;
        sent.map(drop).map_err(|error| port_error(WHAT, &error))
    }
}

/// Replaces characters that SQS refuses in an attribute by spaces: control characters and some others that a provider
/// may write.
fn sanitize_attribute(text: &str) -> String {
    let odd = |character: char| character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}');
    text.chars()
        .map(|character| if odd(character) { ' ' } else { character })
        .collect()
}

/// Returns the attributes that a copy shows beside its body. They hold no personal data.
fn copy_attributes(dead_letter: &DeadLetter) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("id", dead_letter.id.clone()),
        ("reason", dead_letter.reason.to_string()),
        ("at", dead_letter.at.to_string()),
        ("attempts", dead_letter.attempts.to_string()),
        ("correlation_id", dead_letter.correlation.to_string()),
    ];
    let instance = dead_letter.instance.as_ref();
    fields.extend(instance.map(|instance| ("instance", instance.to_string())));
    // An attribute must not be empty.
    let error = dead_letter.last_error.clone().filter(|error| !error.is_empty());
    fields.extend(error.map(|error| ("last_error", error)));
    for (_, value) in &mut fields {
        *value = sanitize_attribute(value);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::ids::{CorrelationId, MessageId};
    use recado_domain::millis::from_unix_millis;
    use recado_domain::reason::Reason;
    use recado_domain::wake_up::{OutboundJob, Redrive};

    fn dead_letter(what: DeadLetterContent) -> DeadLetter {
        DeadLetter {
            id: "x".to_owned(),
            queue: QueueName::Outbound,
            reason: Reason::Poison,
            at: from_unix_millis(0),
            attempts: 3,
            last_error: Some(String::new()),
            correlation: CorrelationId::parse("r").unwrap(),
            tenant: None,
            instance: None,
            what,
        }
    }

    #[test]
    fn a_messages_copy_is_the_kick_that_revives_it() {
        let message = MessageId::parse("c_0123456789abcdef0123456789abcdef-1.7").unwrap();
        let (group, body) = build_copy(
            "test",
            &dead_letter(DeadLetterContent::Message {
                message: message.clone(),
            }),
            None,
        )
        .unwrap();
        let OutboundJob::Send(job) = serde_json::from_str(&body).unwrap() else {
            panic!("no send job: {body}")
        };
        let failed_at = from_unix_millis(0);
        assert_eq!(group, job.thread_id().as_str());
        assert_eq!(
            (job.redrive, job.upto.0),
            (
                Some(Redrive {
                    message,
                    failed_at,
                    by: None
                }),
                7
            )
        );
    }

    #[test]
    fn a_copy_is_known_by_what_lies_beside_it_and_anything_else_was_put_there_by_the_queue() {
        let dead_letter = dead_letter(DeadLetterContent::Unreadable { body: "{".to_owned() });
        let mut message = aws_sdk_sqs::types::Message::builder()
            .body("{")
            .receipt_handle("r")
            .attributes(MessageSystemAttributeName::SentTimestamp, "1700000000000");
        let raw = parse_dead_message(QueueName::Inbound, message.clone().build()).unwrap();
        assert_eq!(
            (raw.copy_of, raw.sent_at),
            (None, from_unix_millis(1_700_000_000_000))
        );
        for (name, value) in copy_attributes(&dead_letter) {
            let attribute = MessageAttributeValue::builder()
                .data_type("String")
                .string_value(value);
            message = message.message_attributes(name, attribute.build().unwrap());
        }
        let copy = parse_dead_message(QueueName::Inbound, message.build()).unwrap();
        let of = RedrivenLetter {
            dead_letter: dead_letter.id,
            failed_at: dead_letter.at,
        };
        assert_eq!(copy.copy_of, Some(of));
    }

    /// SQS refuses control characters in attributes, and all behind the copy would wait.
    #[test]
    fn what_a_provider_wrote_does_not_keep_a_copy_from_being_made() {
        let odd = DeadLetter {
            last_error: Some("refused\u{0}: \u{1b}[31mno\u{7f}\u{ffff}\n, ão \u{1f600}".to_owned()),
            ..dead_letter(DeadLetterContent::Unreadable { body: "{".to_owned() })
        };
        let fields = copy_attributes(&odd);
        let error = fields.iter().find(|(name, _)| *name == "last_error").unwrap();
        assert_eq!(error.1, "refused :  [31mno   , ão \u{1f600}");
    }

    /// Otherwise what a queue gave up stands behind the copies of its group.
    #[test]
    fn copies_stand_in_no_group_of_the_queues_own() {
        let group = "c_0123456789abcdef0123456789abcdef-1";
        assert_ne!(copy_group_id(group), super::super::queue_id(group));
        assert_ne!(
            copy_group_id(group),
            copy_group_id("c_0123456789abcdef0123456789abcdef-2")
        );
    }

    #[test]
    fn what_cannot_be_read_is_kept_as_it_came_and_no_attribute_is_empty() {
        let dead_letter = dead_letter(DeadLetterContent::Unreadable { body: "{".to_owned() });
        assert_eq!(build_copy("test", &dead_letter, None).unwrap().1, "{");
        assert!(
            copy_attributes(&dead_letter)
                .iter()
                .all(|(_, value)| !value.is_empty())
        );
    }
}
