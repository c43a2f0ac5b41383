//! Dead letters: events, messages and queue messages that were given up for good, kept so that a person can see them.

mod unnamed_job;

use crate::event::{InboundJob, JobNames};
use crate::ids::{
    ConversationId, CorrelationId, EventId, IdError, InstanceId, InvitationId, MessageId, TenantId,
    TokenName, hash_parts,
};
use crate::millis::{self, add_duration};
use crate::reason::Reason;
use crate::wake_up::{EmailJob, OutboundJob, Redrive, SendJob, TurnsJob};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use strum::IntoStaticStr;

/// A dead letter: a copy of an event, message or queue message that was given up. The record of the event or message
/// decides; this copy serves for reading and for redrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The id of the event, message or invitation. For a job of `turns` or an unreadable queue message, a hash of the text.
    pub id: String,
    /// The queue that the work came from: `inbound`, `turns` or `outbound`.
    pub queue: QueueName,
    /// The reason for giving up.
    pub reason: Reason,
    /// Time at which the work was given up.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Number of attempts made.
    pub attempts: u32,
    /// The last error, without personal data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The correlation id, which follows the work through every queue, record and log line.
    pub correlation: CorrelationId,
    /// The tenant, where it is known. A dead letter of nobody is for the installation's operators alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The instance, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceId>,
    /// The content: what a redrive would do again.
    pub what: DeadLetterContent,
}

/// The content of a dead letter, by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DeadLetterContent {
    /// An event that could not be applied.
    Event(Box<InboundJob>),
    /// A message that could not be sent.
    Message {
        /// The message's id.
        message: MessageId,
    },
    /// The e-mail of an invitation that could not be sent.
    Email {
        /// Tenant of the invitation.
        tenant: TenantId,
        /// The invitation.
        invitation: InvitationId,
    },
    /// The job of `turns` that its queue gave up. The record that it names is unchanged: what is to be done stays so.
    #[serde(alias = "turn", deserialize_with = "unnamed_job::read_job")]
    Turns(Box<TurnsJob>),
    /// A queue message that could not be read.
    Unreadable {
        /// The queue message's body as received, cut to a length that a record can hold.
        body: String,
    },
    /// A record of a dead letter that itself cannot be read, such as one of another version. It is never written.
    Damaged {
        /// The record's text, as stored.
        record: String,
    },
}

/// A message of a queue, by its queue: its body, parsed. A redrive puts such a message on the dead letter's own queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum QueuedJob {
    /// An event.
    Inbound(Box<InboundJob>),
    /// A job of the queue `turns`.
    Turns(TurnsMessage),
    /// A job of the queue `outbound`.
    Outbound(OutboundJob),
}

impl QueuedJob {
    /// Parses the body of a message of `queue`.
    pub fn parse(queue: QueueName, body: &str) -> serde_json::Result<Self> {
        match queue {
            QueueName::Inbound => serde_json::from_str(body).map(Self::Inbound),
            QueueName::Turns => serde_json::from_str(body).map(Self::Turns),
            QueueName::Outbound => serde_json::from_str(body).map(Self::Outbound),
        }
    }

    /// Returns the conversation that the job names; `None` if it names none.
    pub fn conversation(&self) -> Option<&ConversationId> {
        match self {
            Self::Turns(message) => message.job.conversation(),
            Self::Outbound(OutboundJob::Send(job)) => Some(&job.conversation),
            Self::Inbound(_) | Self::Outbound(OutboundJob::Email(_)) => None,
        }
    }

    /// Returns the tenant that the job names; `None` if it names none.
    pub fn tenant(&self) -> Option<&TenantId> {
        match self {
            Self::Turns(message) => Some(message.job.tenant()),
            Self::Outbound(OutboundJob::Email(job)) => Some(&job.tenant),
            Self::Inbound(_) | Self::Outbound(OutboundJob::Send(_)) => None,
        }
    }
}

/// A message of the queue `turns`: a job, and the dead letter from which it was redriven.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnsMessage {
    /// The job.
    #[serde(flatten)]
    pub job: TurnsJob,
    /// The dead letter that is redriven; `None` if the job is not a redrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redrive: Option<RedrivenLetter>,
    /// Time before which the job is not done, where the queue's delay, in whole seconds, is shorter; `None`: at once.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

impl TurnsMessage {
    /// Makes the message of a job that waits for `delay`, and the delay of its queue: whole seconds, at most `seconds_max`. The message
    /// says when the rest of the last second is over.
    pub fn after_delay(job: TurnsJob, delay: Duration, seconds_max: i32, now: Timestamp) -> (Self, i32) {
        let seconds = i32::try_from(delay.as_secs()).map_or(seconds_max, |seconds| seconds.min(seconds_max));
        let has_rest = delay.subsec_nanos() > 0 && seconds < seconds_max;
        let delay = SignedDuration::try_from(delay).ok().filter(|_| has_rest);
        let message = Self {
            job,
            redrive: None,
            not_before: delay.map(|delay| add_duration(now, delay)),
        };
        (message, seconds)
    }
}

/// The mark of a dead letter from which a queue message was redriven.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RedrivenLetter {
    /// The dead letter's id.
    pub dead_letter: String,
    /// Time of the failure that the redrive undoes.
    #[serde(with = "millis")]
    pub failed_at: Timestamp,
}

/// Maximum size of an unreadable body in the JSON of a dead letter, in bytes: a record holds no more.
const UNREADABLE_BYTES_MAX: usize = 300_000;

/// Returns the beginning of a text that takes at most `most` bytes in JSON.
fn cut_for_json(text: &str, most: usize) -> &str {
    let size = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    };
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += size(*c);
        taken > most
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// Returns the id of the dead letter of a queue message that cannot be read.
pub fn unreadable_letter_id(queue: QueueName, body: &str) -> String {
    hash_parts(&["unreadable", queue.as_str(), body], 32)
}

impl DeadLetter {
    /// Builds the dead letter of a queue message that cannot be read. `error` must not contain text of the body.
    pub fn from_unreadable_body(
        queue: QueueName,
        body: &str,
        at: Timestamp,
        error: String,
        correlation: CorrelationId,
    ) -> Self {
        Self {
            id: unreadable_letter_id(queue, body),
            queue,
            reason: Reason::Poison,
            at,
            attempts: 1,
            last_error: Some(error),
            correlation,
            tenant: None,
            instance: None,
            what: DeadLetterContent::Unreadable {
                body: cut_for_json(body, UNREADABLE_BYTES_MAX).to_owned(),
            },
        }
    }

    /// Returns the id of the event of an unreadable message, as far as it can be read. That event was settled when the dead letter was
    /// made. `None`: the message is not one of `inbound`.
    pub fn unread_event(&self) -> Option<EventId> {
        match &self.what {
            DeadLetterContent::Unreadable { body } if self.queue == QueueName::Inbound => {
                JobNames::cut_out(body).event
            }
            _ => None,
        }
    }

    /// Builds the queue message for a redrive, together with its group. `None`: the dead letter holds an
    /// unreadable body, which is sent unchanged. An error means that the message's id is malformed. `by`: name of the token
    /// with which the redrive is ordered, if it is known.
    pub fn build_redrive_payload(
        &self,
        by: Option<&TokenName>,
    ) -> Result<Option<(String, QueuedJob)>, IdError> {
        Ok(Some(match &self.what {
            DeadLetterContent::Event(job) => {
                let job = InboundJob {
                    redrive: Some(self.at),
                    ..InboundJob::clone(job)
                };
                (job.group.clone(), QueuedJob::Inbound(Box::new(job)))
            }
            DeadLetterContent::Message { message } => {
                let (conversation, upto) = message.conversation_and_ordinal()?;
                let group = conversation.thread_id().as_str().to_owned();
                let job = SendJob {
                    redrive: Some(Redrive {
                        message: message.clone(),
                        failed_at: self.at,
                        by: by.cloned(),
                    }),
                    ..SendJob::new(conversation, upto, self.correlation.clone())
                };
                (group, QueuedJob::Outbound(job.into()))
            }
            DeadLetterContent::Email { tenant, invitation } => {
                let job = EmailJob {
                    tenant: tenant.clone(),
                    invitation: invitation.clone(),
                    correlation: self.correlation.clone(),
                    parent: None,
                    redrive: Some(self.at),
                };
                (job.queue_group().to_owned(), QueuedJob::Outbound(job.into()))
            }
            DeadLetterContent::Turns(job) => {
                let redriven = TurnsMessage {
                    job: TurnsJob::clone(job),
                    redrive: Some(RedrivenLetter {
                        dead_letter: self.id.clone(),
                        failed_at: self.at,
                    }),
                    not_before: None,
                };
                (job.fair_group(), QueuedJob::Turns(redriven))
            }
            DeadLetterContent::Unreadable { .. } | DeadLetterContent::Damaged { .. } => return Ok(None),
        }))
    }

    /// Builds what can be told of a dead letter whose record cannot be read: its id, its time, and those of `fields` that are
    /// as they should be. Nobody can redrive it; it can be seen and deleted.
    pub fn from_damaged_record(id: String, at: Timestamp, fields: &Value, record: String) -> Self {
        Self {
            id,
            queue: read_field(fields, "queue").unwrap_or(QueueName::Inbound),
            reason: read_field(fields, "reason").unwrap_or(Reason::Poison),
            at,
            attempts: read_field(fields, "attempts").unwrap_or_default(),
            last_error: Some("the record of this dead letter cannot be read".to_owned()),
            correlation: read_field(fields, "correlation").unwrap_or_else(CorrelationId::unknown),
            tenant: read_field(fields, "tenant"),
            instance: read_field(fields, "instance"),
            what: DeadLetterContent::Damaged { record },
        }
    }

    /// Returns the word for the kind of content: `event`, `message`, `email`, a kind of [`TurnsJob`], `unreadable` or `damaged`.
    pub fn kind_name(&self) -> &'static str {
        match &self.what {
            DeadLetterContent::Turns(job) => job.kind_name(),
            other => other.into(),
        }
    }
}

/// Returns a field of a record, if it can be read.
fn read_field<T: DeserializeOwned>(record: &Value, name: &str) -> Option<T> {
    serde_json::from_value(record.get(name)?.clone()).ok()
}

/// The FIFO group of queue messages that cannot be read.
pub const UNREADABLE_GROUP: &str = "unreadable";

/// Recado's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum QueueName {
    /// Events to process. FIFO groups are made by contact.
    Inbound,
    /// Jobs of conversations and batches; they may be delayed.
    Turns,
    /// Send jobs and jobs of e-mails. FIFO groups are made by contact, by reply of the agent, and by e-mail.
    Outbound,
}

impl QueueName {
    /// All queues.
    pub const ALL: [Self; 3] = [Self::Inbound, Self::Turns, Self::Outbound];

    /// Returns the queue's name in records, logs and routes.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
