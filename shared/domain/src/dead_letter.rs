//! What was given up for good, where a person can see it.

use crate::event::InboundJob;
use crate::ids::{CorrelationId, IdError, InstanceId, MessageId};
use crate::millis;
use crate::reason::Reason;
use crate::wake_up::{Redrive, SendJob, TurnJob};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A dead letter. The event's or message's own record is the truth; this copy is for eyes and for redrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Its id: the event's or message's.
    pub id: String,
    /// Which queue it came from: `inbound`, `turns` or `outbound`.
    pub queue: QueueName,
    /// Why.
    pub reason: Reason,
    /// When.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// How often it was attempted.
    pub attempts: u32,
    /// The last error, without personal data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Follows it everywhere.
    pub correlation: CorrelationId,
    /// The instance, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceId>,
    /// What would be done again.
    pub what: DeadLetterContent,
}

/// What a dead letter is a copy of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeadLetterContent {
    /// An event that could not be applied.
    Event(Box<InboundJob>),
    /// A message that could not be sent.
    Message {
        /// Which.
        message: MessageId,
    },
    /// A turn's kick that its queue gave up. No record died: the answer stays owed.
    Turn(Box<TurnJob>),
    /// A queue message that could not be read.
    Unreadable {
        /// Its body, as it came.
        body: String,
    },
}

/// What a dead letter's own queue carries when the letter is redriven, from wherever.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RedrivePayload {
    /// An event, marked with the death that is undone.
    Event(Box<InboundJob>),
    /// A kick, marked with the message and the death that is undone.
    Message(SendJob),
    /// A turn's kick, marked with its letter.
    Turn(RedrivenTurn),
}

/// A [`TurnJob`] with the mark of the dead letter that it comes from. The kick alone reads it too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RedrivenTurn {
    /// The kick.
    #[serde(flatten)]
    pub kick: TurnJob,
    /// The letter.
    pub redrive: RedrivenLetter,
}

/// A dead letter by which something was redriven.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RedrivenLetter {
    /// Its id.
    pub letter: String,
    /// Of which death.
    #[serde(with = "millis")]
    pub died: Timestamp,
}

impl DeadLetter {
    /// What its own queue carries at a redrive, and under which group; `None` for a body that could not be read, which
    /// travels as it is.
    pub fn build_redrive_payload(&self) -> Result<Option<(String, RedrivePayload)>, IdError> {
        Ok(Some(match &self.what {
            DeadLetterContent::Event(job) => {
                let job = InboundJob {
                    redrive: Some(self.at),
                    ..InboundJob::clone(job)
                };
                (job.group.clone(), RedrivePayload::Event(Box::new(job)))
            }
            DeadLetterContent::Message { message } => {
                let (conversation, upto) = message.conversation_and_ordinal()?;
                let group = conversation.thread_id().as_str().to_owned();
                let kick = SendJob {
                    redrive: Some(Redrive {
                        message: message.clone(),
                        died: self.at,
                    }),
                    ..SendJob::new(conversation, upto, self.correlation.clone())
                };
                (group, RedrivePayload::Message(kick))
            }
            DeadLetterContent::Turn(kick) => {
                let redriven = RedrivenTurn {
                    kick: TurnJob::clone(kick),
                    redrive: RedrivenLetter {
                        letter: self.id.clone(),
                        died: self.at,
                    },
                };
                (kick.conversation.to_string(), RedrivePayload::Turn(redriven))
            }
            DeadLetterContent::Unreadable { .. } => return Ok(None),
        }))
    }

    /// What kind of thing it is a copy of, in a word.
    pub fn kind_name(&self) -> &'static str {
        match self.what {
            DeadLetterContent::Event(_) => "event",
            DeadLetterContent::Message { .. } => "message",
            DeadLetterContent::Turn(_) => "turn",
            DeadLetterContent::Unreadable { .. } => "unreadable",
        }
    }
}

/// The group of queue messages that cannot be read.
pub const UNREADABLE_GROUP: &str = "unreadable";

/// Who deleted a dead letter: what is left of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetterDeletion {
    /// The letter's id.
    pub letter: String,
    /// When what it was a copy of had died.
    #[serde(with = "millis")]
    pub died: Timestamp,
    /// Which queue it came from.
    pub queue: QueueName,
    /// `event`, `message`, `turn` or `unreadable`.
    pub what: String,
    /// Why it had been given up.
    pub reason: Reason,
    /// The instance, where it was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceId>,
    /// Followed it everywhere.
    pub correlation: CorrelationId,
    /// Who deleted it, as they say.
    pub by: String,
    /// When.
    #[serde(with = "millis")]
    pub at: Timestamp,
}

impl DeadLetterDeletion {
    /// The deletion of `letter`.
    pub fn from_letter(letter: &DeadLetter, by: &str, at: Timestamp) -> Self {
        Self {
            letter: letter.id.clone(),
            died: letter.at,
            queue: letter.queue,
            what: letter.kind_name().to_owned(),
            reason: letter.reason,
            instance: letter.instance.clone(),
            correlation: letter.correlation.clone(),
            by: by.to_owned(),
            at,
        }
    }
}

/// Recado's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueName {
    /// Events to process; FIFO by contact.
    Inbound,
    /// Turns to reply to; delayed.
    Turns,
    /// Messages to send; FIFO by contact, and by reply of the agent.
    Outbound,
}

impl QueueName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Inbound, Self::Turns, Self::Outbound];

    /// Its name in records, logs and routes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Turns => "turns",
            Self::Outbound => "outbound",
        }
    }
}
