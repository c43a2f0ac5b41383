//! Wake-up jobs on the queues `outbound`, `turns` and `webhooks`. A job only names the record to look at, never its content.

use crate::ids::{
    BatchId, ConversationId, CorrelationId, InvitationId, MessageId, Ordinal, TenantId, ThreadId, TokenName,
    WebhookEndpointId, hash_parts,
};
use crate::message::{Message, OutgoingSide};
use crate::millis;
use crate::trace_context::ParentSpan;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A job on the queue `outbound`. The tag of its JSON says which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "snake_case")]
pub enum OutboundJob {
    /// A contact's open messages are to be sent.
    Send(SendJob),
    /// The e-mail of an invitation is to be given to its carrier.
    Email(EmailJob),
}

impl OutboundJob {
    /// Returns the FIFO group of the job.
    pub fn queue_group(&self) -> &str {
        match self {
            Self::Send(job) => job.queue_group(),
            Self::Email(job) => job.queue_group(),
        }
    }
}

impl From<SendJob> for OutboundJob {
    fn from(job: SendJob) -> Self {
        Self::Send(job)
    }
}

impl From<EmailJob> for OutboundJob {
    fn from(job: EmailJob) -> Self {
        Self::Email(job)
    }
}

/// A wake-up job on the queue `outbound`: send the contact's open messages. It covers the messages up to the ordinal in
/// this conversation; messages left in earlier conversations of the contact are sent first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendJob {
    /// The conversation that the job begins with.
    pub conversation: ConversationId,
    /// Ordinal up to which messages are sent; [`SendJob::ALL_OPEN`] stands for all open messages of the contact.
    pub upto: Ordinal,
    /// Correlation id, which follows the job through every queue, record and log line.
    pub correlation: CorrelationId,
    /// Span that made the job, below which its work goes on. `None`: no traces are exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSpan>,
    /// The dead letter whose message is to be queued again first; `None` if the job is not a redrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redrive: Option<Redrive>,
    /// The agent's reply in whose FIFO group the job is queued, as [`Message::reply_id`] names it; `None`: the contact's
    /// group. A takeover makes a reply void. The messages sent after it must not wait behind a job that waits for that
    /// reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<MessageId>,
}

impl SendJob {
    /// Creates a send job in the contact's group for all open messages up to `upto`.
    pub fn new(conversation: ConversationId, upto: Ordinal, correlation: CorrelationId) -> Self {
        Self {
            conversation,
            upto,
            correlation,
            parent: None,
            redrive: None,
            reply: None,
        }
    }

    /// Value of [`SendJob::upto`] that also covers later conversations of the contact.
    pub const ALL_OPEN: Ordinal = Ordinal(u64::MAX);

    /// Returns the contact's thread. The messages of all its conversations are sent in one order.
    pub fn thread_id(&self) -> &ThreadId {
        self.conversation.thread_id()
    }

    /// Returns the FIFO group of the job: the contact's thread, or the agent's reply.
    pub fn queue_group(&self) -> &str {
        let contacts = self.thread_id().as_str();
        self.reply.as_ref().map_or(contacts, MessageId::as_str)
    }

    /// Returns the same job in the FIFO group in which `message` is worked on.
    #[must_use]
    pub fn in_group_of(self, message: &Message<impl OutgoingSide>) -> Self {
        Self {
            reply: message.reply_id(),
            ..self
        }
    }

    /// Returns `true` if the job covers `message`.
    pub fn includes_message(&self, message: &Message<impl OutgoingSide>) -> bool {
        let upto = (self.conversation.number_in_thread(), self.upto);
        self.upto == Self::ALL_OPEN || (message.conversation.number_in_thread(), message.ordinal) <= upto
    }
}

/// The dead-lettered message that a redrive queues again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redrive {
    /// Id of the message.
    pub message: MessageId,
    /// Time of the failure that the redrive undoes. If the message's newest failure has another time, the redrive changes
    /// nothing.
    #[serde(with = "millis")]
    pub failed_at: Timestamp,
    /// Name of the token with which the redrive was ordered; `None` if the queue's own tools started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<TokenName>,
}

/// A wake-up job on the queue `outbound`: give the e-mail of an invitation to its carrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmailJob {
    /// Tenant of the invitation.
    pub tenant: TenantId,
    /// The invitation.
    pub invitation: InvitationId,
    /// Correlation id, which follows the job through every queue, record and log line.
    pub correlation: CorrelationId,
    /// Span that made the job, below which its work goes on. `None`: no traces are exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSpan>,
    /// Time of the failure that the job undoes; `None` if it is not a redrive.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub redrive: Option<Timestamp>,
}

impl EmailJob {
    /// Returns the FIFO group of the job: e-mails wait for nobody.
    pub fn queue_group(&self) -> &str {
        self.invitation.as_str()
    }
}

/// A wake-up job on the queue `webhooks`: an endpoint of a tenant may have to be posted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointJob {
    /// Tenant of the endpoint.
    pub tenant: TenantId,
    /// The endpoint.
    pub endpoint: WebhookEndpointId,
}

impl EndpointJob {
    /// Returns the FIFO group of the job: of an endpoint one job is handled at a time, and none waits for another endpoint.
    pub fn queue_group(&self) -> String {
        format!("{}#{}", self.tenant, self.endpoint)
    }
}

/// A job on the queue `turns`. The tag of its JSON says which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "job", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TurnsJob {
    /// The agent may have to answer.
    Turn(TurnJob),
    /// The time of a conversation's people may be over.
    AgentReturn(AgentReturnJob),
    /// The file of a message is to be fetched, and its text to be read.
    File(FileJob),
    /// A batch of invitations is to be expanded.
    Batch(BatchJob),
}

impl TurnsJob {
    /// Returns the word for the kind of job, which is also the tag of its JSON.
    pub fn kind_name(&self) -> &'static str {
        self.into()
    }

    /// Returns the tenant. The queue shares its workers fairly between tenants.
    pub fn tenant(&self) -> &TenantId {
        match self {
            Self::Turn(job) => &job.tenant,
            Self::AgentReturn(job) => &job.tenant,
            Self::File(job) => &job.tenant,
            Self::Batch(job) => &job.tenant,
        }
    }

    /// Returns the group for fair queueing: a hash of the tenant's id, which may be too long for a group id.
    pub fn fair_group(&self) -> String {
        hash_parts(&["tenant", self.tenant().as_str()], 16)
    }

    /// Returns the conversation that the job is about. `None`: a batch is about many.
    pub fn conversation(&self) -> Option<&ConversationId> {
        match self {
            Self::Turn(job) => Some(&job.conversation),
            Self::AgentReturn(job) => Some(&job.conversation),
            Self::File(job) => Some(&job.conversation),
            Self::Batch(_) => None,
        }
    }

    /// Returns the correlation id.
    pub fn correlation(&self) -> &CorrelationId {
        match self {
            Self::Turn(job) => &job.correlation,
            Self::AgentReturn(job) => &job.correlation,
            Self::File(job) => &job.correlation,
            Self::Batch(job) => &job.correlation,
        }
    }

    /// Returns the span that made the job. `None`: the job begins at the top of its trace.
    pub fn parent(&self) -> Option<ParentSpan> {
        match self {
            Self::Turn(job) => job.parent,
            Self::AgentReturn(job) => job.parent,
            Self::File(job) => job.parent,
            Self::Batch(_) => None,
        }
    }

    /// Returns the key of the job's schedule: its kind, and the record that it is about. A key has one schedule in a minute.
    pub fn schedule_key(&self) -> String {
        let about = match self {
            Self::Turn(TurnJob { conversation, .. })
            | Self::AgentReturn(AgentReturnJob { conversation, .. }) => conversation.to_string(),
            Self::File(job) => job.message_id().to_string(),
            Self::Batch(job) => job.batch.to_string(),
        };
        format!("{}#{about}", self.kind_name())
    }
}

/// A wake-up job on the queue `turns`: the agent may have to answer in this conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnJob {
    /// The conversation to look at.
    pub conversation: ConversationId,
    /// Tenant of the conversation.
    pub tenant: TenantId,
    /// Ordinal of the newest message that needed a reply when the job was made.
    pub ordinal: Ordinal,
    /// Correlation id, which follows the job through every queue, record and log line.
    pub correlation: CorrelationId,
    /// Span that made the job, below which its work goes on. `None`: no traces are exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSpan>,
    /// For a turn that waits for an opening: the time of its place, so that a late schedule can be distinguished from a new one.
    /// `None` for other turns.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}

/// A wake-up job on the queue `turns`: the agent may come back to a conversation of people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReturnJob {
    /// The conversation to look at. Its record says when the agent comes back.
    pub conversation: ConversationId,
    /// Tenant of the conversation.
    pub tenant: TenantId,
    /// Correlation id, which follows the job through every queue, record and log line.
    pub correlation: CorrelationId,
    /// Span that made the job, below which its work goes on. `None`: no traces are exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSpan>,
}

/// A wake-up job on the queue `turns`: fetch the file of a message, and read its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileJob {
    /// The conversation of the message.
    pub conversation: ConversationId,
    /// Tenant of the conversation.
    pub tenant: TenantId,
    /// Ordinal of the message.
    pub ordinal: Ordinal,
    /// Correlation id, which follows the job through every queue, record and log line.
    pub correlation: CorrelationId,
    /// Span that made the job, below which its work goes on. `None`: no traces are exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSpan>,
}

impl FileJob {
    /// Returns the id of the message whose file it is.
    pub fn message_id(&self) -> MessageId {
        self.conversation.message_id(self.ordinal)
    }
}

/// A wake-up job on the queue `turns`: make the next invitations of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchJob {
    /// Tenant of the batch.
    pub tenant: TenantId,
    /// The batch.
    pub batch: BatchId,
    /// Number of the recipient to begin with, counted from 0.
    pub from: usize,
    /// Correlation id of the request that made the batch.
    pub correlation: CorrelationId,
}

#[cfg(test)]
mod tests;
