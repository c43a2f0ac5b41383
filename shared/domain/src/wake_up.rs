//! Wake-up jobs on the queues `outbound`, `turns` and `webhooks`. A job only names the messages, the conversation or the endpoint to
//! look at, never their content.

use crate::ids::{
    BatchId, ConversationId, CorrelationId, InvitationId, MessageId, Ordinal, TenantId, ThreadId, TokenName,
    WebhookEndpointId,
};
use crate::message::{Message, OutgoingSide};
use crate::millis;
use crate::trace_context::ParentSpan;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

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

/// A wake-up job on the queue `turns`: the agent may have to answer in this conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnJob {
    /// The conversation to look at.
    pub conversation: ConversationId,
    /// Tenant of the conversation. The queue shares its workers fairly between tenants.
    pub tenant: TenantId,
    /// Ordinal of the newest message that needed a reply when the job was made.
    pub ordinal: Ordinal,
    /// Correlation id, which follows the job through every queue, record and log line.
    pub correlation: CorrelationId,
    /// Span that made the job, below which its work goes on. `None`: no traces are exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSpan>,
    /// For a schedule: the minute at which it was due, so that a late schedule can be distinguished from a new one.
    /// `None` for other jobs.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// The message whose file is to be fetched, and nothing else to be done. `None` for jobs that ask for a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Ordinal>,
    /// The batch of invitations that is to be expanded from its recipient number `ordinal` on. The job has nothing else to do.
    /// `None` for jobs that ask for a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchId>,
}
