//! What was given up for good, where a person can see it.

use crate::event::InboundJob;
use crate::ids::{CorrelationId, InstanceId, MessageId};
use crate::millis;
use crate::reason::Reason;
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
    pub what: DeadWhat,
}

/// What a dead letter is a copy of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeadWhat {
    /// An event that could not be applied.
    Event(Box<InboundJob>),
    /// A message that could not be sent.
    Message {
        /// Which.
        message: MessageId,
    },
    /// A queue message that could not be read.
    Unreadable {
        /// Its body, as it came.
        body: String,
    },
}

/// Recado's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueName {
    /// Events to process; FIFO by contact.
    Inbound,
    /// Turns to reply to; delayed.
    Turns,
    /// Messages to send; FIFO by conversation.
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
