//! Queues on SQS, schedules on `EventBridge` Scheduler, large bodies on S3.

mod batches;
mod dead_letters;
mod dead_looks;
mod endpoint_jobs;
mod files;
mod message_body;
mod objects;
mod schedule;

use crate::clients::Clients;
use crate::config::{AwsConfig, require_setting, variable};
use crate::error::{AwsError, invalid_request, none_if_missing, port_error};
use crate::system::OsSystem;
use async_trait::async_trait;
use aws_sdk_s3::types::MetadataDirective;
use aws_sdk_scheduler::types::{ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, Target};
use aws_sdk_sqs::operation::send_message::builders::SendMessageFluentBuilder;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use dead_looks::DeadLooks;
use jiff::Timestamp;
use objects::NO_OBJECT;
use recado_domain::dead_letter::{DeadLetter, QueueName, TurnsMessage};
use recado_domain::ids::hash_parts;
use recado_domain::wake_up::TurnsJob;
use recado_ports::ports::{InboundEntry, OutboundEntry, PortError, PortResult, Queues, System};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// The longest delay of an SQS message, in seconds.
const DELAY_MAX_SECONDS: i32 = 900;

/// The queues of one installation.
#[derive(Debug, Clone)]
pub struct AwsQueues<A = OsSystem> {
    clients: Clients,
    config: AwsConfig,
    system: A,
    dead_looks: DeadLooks,
}

/// Returns an id that SQS accepts: at most 128 letters, digits and punctuation. Any other id is hashed.
fn queue_id(id: &str) -> String {
    let fine = (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if fine {
        id.to_owned()
    } else {
        hash_parts(&["queue", id], 32)
    }
}

/// Returns the key of a body's object in the bucket.
fn payload_object_key(key: &str) -> String {
    format!("payloads/{key}")
}

/// Encodes a path for a header of S3: letters, digits and `-_.~/` stay, every other byte becomes an escape.
fn url_encode_path(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    path.bytes()
        .map(|byte| match byte {
            byte if plain(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// The message of a FIFO queue.
#[derive(Debug)]
struct SqsEntry {
    body: String,
    group: String,
    deduplication: String,
}

impl<A: System> AwsQueues<A> {
    /// Creates the queues that `config` names.
    pub fn new(clients: Clients, config: AwsConfig, system: A) -> Self {
        Self {
            clients,
            config,
            system,
            dead_looks: DeadLooks::default(),
        }
    }

    /// Makes a message that was received from `queue` visible again after `seconds` (0 to 43,200).
    pub async fn change_visibility(&self, queue: QueueName, receipt: &str, seconds: u32) -> PortResult<()> {
        let url = self
            .config
            .queue_url("changing a queue message's visibility", queue)?;
        self.change_visibility_at(url, receipt, seconds).await
    }

    /// Makes a message of the queue at `url` visible again after `seconds` (0 to 43,200).
    pub async fn change_visibility_at(&self, url: &str, receipt: &str, seconds: u32) -> PortResult<()> {
        const WHAT: &str = "changing a queue message's visibility";
        let seconds = i32::try_from(seconds).unwrap_or(i32::MAX);
        let request = self.clients.sqs.change_message_visibility().queue_url(url);
        let sent = request
            .receipt_handle(receipt)
            .visibility_timeout(seconds)
            .send()
            .await;
        sent.map(|_| ()).map_err(|error| port_error(WHAT, &error))
    }

    /// Begins a request that sends a message to the queue at `url`.
    fn begin_message(&self, url: &str, body: String) -> SendMessageFluentBuilder {
        let request = self.clients.sqs.send_message();
        request.queue_url(url).message_body(body)
    }

    async fn send_entry(&self, what: &'static str, url: &str, entry: SqsEntry) -> PortResult<()> {
        let request = self
            .begin_message(url, entry.body)
            .message_group_id(entry.group)
            .message_deduplication_id(entry.deduplication);
        let sent = request.send().await;
        sent.map(drop).map_err(|error| port_error(what, &error))
    }

    /// Sends entries in few requests, one after the other: a message of a group is sent only after all earlier ones of that group were
    /// accepted.
    async fn send_entries(&self, what: &'static str, url: &str, entries: Vec<SqsEntry>) -> PortResult<()> {
        for round in batches::split_into_rounds(entries, |entry| &entry.group) {
            for mut batch in batches::split_into_batches(round, |entry| entry.body.len()) {
                match batch.pop() {
                    Some(only) if batch.is_empty() => self.send_entry(what, url, only).await?,
                    Some(last) => {
                        batch.push(last);
                        self.send_batch(what, url, batch).await?;
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    async fn send_batch(&self, what: &'static str, url: &str, entries: Vec<SqsEntry>) -> PortResult<()> {
        let mut request = self.clients.sqs.send_message_batch().queue_url(url);
        for (place, entry) in entries.into_iter().enumerate() {
            let message = SendMessageBatchRequestEntry::builder()
                .id(place.to_string())
                .message_body(entry.body)
                .message_group_id(entry.group)
                .message_deduplication_id(entry.deduplication);
            request = request.entries(message.build().map_err(|error| invalid_request(what, error))?);
        }
        let output = request.send().await.map_err(|error| port_error(what, &error))?;
        match output.failed.first() {
            // Other messages of the batch may be enqueued. The caller repeats all of them, and deduplication drops
            // those that are there.
            Some(failed) => {
                let cause = AwsError {
                    code: failed.code.clone(),
                    message: failed.message.clone(),
                };
                Err(PortError::unavailable(what, cause))
            }
            None => Ok(()),
        }
    }
}

#[async_trait]
impl<A: System> Queues for AwsQueues<A> {
    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        const WHAT: &str = "enqueueing events";
        let url = self.config.queue_url(WHAT, QueueName::Inbound)?;
        let entry = |event: &InboundEntry| {
            Ok(SqsEntry {
                body: message_body::encode_body(WHAT, &event.job)?,
                group: queue_id(&event.job.group),
                deduplication: queue_id(&event.deduplication),
            })
        };
        let entries: Vec<SqsEntry> = events.iter().map(entry).collect::<PortResult<_>>()?;
        self.send_entries(WHAT, url, entries).await
    }

    async fn enqueue_turns_job(&self, job: &TurnsJob, delay: Duration) -> PortResult<()> {
        const WHAT: &str = "enqueueing a job of turns";
        let url = self.config.queue_url(WHAT, QueueName::Turns)?;
        let now = self.system.now();
        let (message, seconds) = TurnsMessage::after_delay(job.clone(), delay, DELAY_MAX_SECONDS, now);
        let request = self
            .begin_message(url, message_body::encode_body(WHAT, &message)?)
            .delay_seconds(seconds)
            // On a standard queue the group does not order messages: it keeps one busy tenant from delaying the others.
            .message_group_id(job.fair_group());
        let sent = request.send().await;
        sent.map(drop).map_err(|error| port_error(WHAT, &error))
    }

    async fn schedule_turns_job(&self, job: &TurnsJob, at: Timestamp) -> PortResult<()> {
        const WHAT: &str = "scheduling a job of turns";
        let minute = schedule::schedule_minute(at, self.system.now());
        let config = &self.config;
        let queue = require_setting(WHAT, variable::TURNS_QUEUE_ARN, config.turns_queue_arn.as_ref())?;
        let role = require_setting(WHAT, variable::SCHEDULER_ROLE, config.scheduler_role_arn.as_ref())?;
        let group = require_setting(WHAT, variable::SCHEDULE_GROUP, config.schedule_group.as_ref())?;
        let target = Target::builder()
            .arn(queue)
            .role_arn(role)
            .input(message_body::encode_body(WHAT, job)?)
            .build()
            .map_err(|error| invalid_request(WHAT, error))?;
        let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off);
        let request = self
            .clients
            .scheduler()
            .create_schedule()
            .name(schedule::schedule_name(&job.schedule_key(), minute))
            .group_name(group)
            .schedule_expression(schedule::schedule_expression(minute))
            .schedule_expression_timezone("UTC")
            .flexible_time_window(window.build().map_err(|error| invalid_request(WHAT, error))?)
            .action_after_completion(ActionAfterCompletion::Delete)
            .target(target);
        // A schedule that exists already is left unchanged.
        none_if_missing(WHAT, "ConflictException", request.send().await).map(drop)
    }

    async fn enqueue_outbound(&self, entries: &[OutboundEntry]) -> PortResult<()> {
        const WHAT: &str = "enqueueing jobs of outbound";
        let entry = |one: &OutboundEntry| {
            Ok(SqsEntry {
                body: message_body::encode_body(WHAT, &one.job)?,
                group: queue_id(one.job.queue_group()),
                deduplication: queue_id(&one.deduplication),
            })
        };
        let entries: Vec<SqsEntry> = entries.iter().map(entry).collect::<PortResult<_>>()?;
        let url = self.config.queue_url(WHAT, QueueName::Outbound)?;
        self.send_entries(WHAT, url, entries).await
    }

    async fn enqueue_dead_copy(&self, dead_letter: &DeadLetter) -> PortResult<()> {
        self.put_dead_letter_copy("copying a dead letter", dead_letter)
            .await
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        const WHAT: &str = "keeping a large body";
        let json = serde_json::to_vec(payload).map_err(|error| PortError::invalid(WHAT, error))?;
        self.put_object(WHAT, payload_object_key(key), "application/json", json)
            .await
    }

    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        const WHAT: &str = "keeping a large body longer";
        let bucket = self.bucket(WHAT)?;
        let request = self
            .clients
            .s3()
            .copy_object()
            .copy_source(format!("{bucket}/{}", url_encode_path(&payload_object_key(key))))
            .bucket(bucket)
            .key(payload_object_key(key))
            // S3 copies an object onto itself only if something changes. Replacing the metadata counts, and restarts
            // the time to expiry.
            .metadata_directive(MetadataDirective::Replace)
            .content_type("application/json");
        Ok(none_if_missing(WHAT, NO_OBJECT, request.send().await)?.is_some())
    }

    async fn find_payload(&self, key: &str) -> PortResult<Option<Value>> {
        const WHAT: &str = "reading a large body";
        let Some(body) = self.open_object(WHAT, payload_object_key(key)).await? else {
            return Ok(None);
        };
        let bytes = body.collect().await;
        let bytes = bytes.map_err(|error| PortError::unavailable(WHAT, error))?;
        serde_json::from_slice(&bytes.into_bytes())
            .map(Some)
            .map_err(|error| PortError::invalid(WHAT, error))
    }

    async fn delete_payload(&self, key: &str) -> PortResult<()> {
        self.delete_object("deleting a large body", payload_object_key(key))
            .await
    }

    /// SQS deletes only what was received: the messages come and find their events settled.
    async fn delete_inbound(&self, _: &BTreeSet<String>) -> PortResult<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
