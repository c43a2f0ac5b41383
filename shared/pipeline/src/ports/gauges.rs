use super::PortResult;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::EventRecord;
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::message::Message;
use recado_domain::provider::Provider;
use std::future::Future;

/// How full a queue is. On AWS as SQS estimates it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueDepth {
    /// To be handed out.
    pub waiting: u64,
    /// Handed out and not acknowledged, or put off.
    pub in_flight: u64,
    /// Not to be handed out yet.
    pub delayed: u64,
    /// When the oldest was sent, where the queue tells.
    pub oldest: Option<Timestamp>,
}

impl QueueDepth {
    /// All that is in it.
    pub fn total_messages(&self) -> u64 {
        self.waiting + self.in_flight + self.delayed
    }
}

/// How much waits in the queues.
pub trait QueueDepths: Send + Sync + 'static {
    /// How full `queue` is.
    fn read_queue_depth(&self, queue: QueueName) -> impl Future<Output = PortResult<QueueDepth>> + Send;
}

/// An outgoing message that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenMessage {
    /// Of which instance.
    pub instance: InstanceId,
    /// Its outbox state, in a word.
    pub state: &'static str,
    /// Attempts so far.
    pub attempts: u32,
    /// When it was stored.
    pub since: Timestamp,
}

/// An event that is not applied yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenEvent {
    /// From which provider.
    pub provider: Provider,
    /// What that calls the instance.
    pub external: ExternalId,
    /// When it was received.
    pub since: Timestamp,
}

/// What is open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenWork {
    /// Outgoing messages (a dead one is open until its dead letter exists).
    pub messages: Vec<OpenMessage>,
    /// Pending events.
    pub events: Vec<OpenEvent>,
    /// The instance of each parked conversation.
    pub parked: Vec<InstanceId>,
    /// There is more than was looked at.
    pub at_least: bool,
}

/// What monitors ask of the store. It may be some seconds old: no decision may rest on it.
pub trait Gauges: Send + Sync {
    /// What is open, of each kind about `limit` at most: those longest overdue.
    fn read_open_work(&self, limit: usize) -> impl Future<Output = PortResult<OpenWork>> + Send;
}

impl OpenMessage {
    /// What monitors are told of a message that is on its way out.
    pub fn from_message(message: &Message) -> Option<Self> {
        let out = message.out.as_ref()?;
        Some(Self {
            instance: message.instance.clone(),
            state: out.state.as_str(),
            attempts: out.attempts,
            since: message.stored_at,
        })
    }
}

impl OpenEvent {
    /// What monitors are told of an event.
    pub fn from_record(record: &EventRecord) -> Self {
        Self {
            provider: record.job.provider,
            external: record.job.external.clone(),
            since: record.job.received_at,
        }
    }
}
