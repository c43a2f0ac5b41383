use super::{ConversationFilter, CorrelatedRecords, OverdueWork, Page, PageRequest, PortResult};
use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use recado_domain::alert::{PersonWait, UnacknowledgedStatus};
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::QueueName;
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::event::EventRecord;
use recado_domain::ids::{CorrelationId, ExternalId, InstanceId, TenantId};
use recado_domain::instance::InstanceState;
use recado_domain::message::Message;
use recado_domain::provider::Provider;
use recado_domain::usage::UsageSum;

/// The number of messages in a queue. On AWS these are estimates of SQS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueDepth {
    /// Messages that can be handed out now.
    pub waiting: u64,
    /// Messages that were handed out and are not acknowledged, or that were put off.
    pub in_flight: u64,
    /// Messages that may not be handed out yet.
    pub delayed: u64,
    /// Time when the oldest message was sent; `None` if the queue does not tell.
    pub oldest: Option<Timestamp>,
}

impl QueueDepth {
    /// Returns the number of all messages in the queue.
    pub fn total_messages(&self) -> u64 {
        self.waiting + self.in_flight + self.delayed
    }
}

/// A source of the queues' depths, and of what waits before the queues.
#[async_trait]
pub trait QueueDepths: Send + Sync + 'static {
    /// Returns the depth of `queue`.
    async fn read_queue_depth(&self, queue: QueueName) -> PortResult<QueueDepth>;

    /// Returns when the oldest webhook came whose event is acknowledged and not among the records yet. `None`: none waits, or an
    /// event is recorded before it is acknowledged.
    async fn read_oldest_intake(&self) -> PortResult<Option<Timestamp>> {
        Ok(None)
    }

    /// Proves by a write that new events can be acknowledged. Where the records' own writes prove it, nothing is done.
    async fn prove_intake_write(&self) -> PortResult<()> {
        Ok(())
    }
}

/// An outgoing message that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenMessage {
    /// Instance of the message.
    pub instance: InstanceId,
    /// Name of the outbox state, for example `sending`.
    pub state: &'static str,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Time when the message was stored.
    pub since: Timestamp,
}

/// An event that is not applied yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenEvent {
    /// Provider of the event.
    pub provider: Provider,
    /// Provider's name of the instance.
    pub external: ExternalId,
    /// Time when the event was received.
    pub since: Timestamp,
}

/// A conversation in which the agent owes an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwedAnswer {
    /// Instance of the conversation.
    pub instance: InstanceId,
    /// Time since which the contact waits.
    pub since: Timestamp,
}

/// The space on the disk that holds the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Free bytes.
    pub free: u64,
    /// Number of free bytes below which the disk counts as full.
    pub least: u64,
}

impl DiskSpace {
    /// Returns `true` if the disk counts as full.
    pub fn is_full(self) -> bool {
        self.free < self.least
    }
}

/// The open work of all instances: messages, events, parked conversations and owed answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenWork {
    /// Open outgoing messages. A dead message is open until its dead letter exists.
    pub messages: Vec<OpenMessage>,
    /// Pending events.
    pub events: Vec<OpenEvent>,
    /// Instance of each parked conversation.
    pub parked: Vec<InstanceId>,
    /// Answers that the agent owes.
    pub owed: Vec<OwedAnswer>,
    /// `true` if there is more open work than was read.
    pub at_least: bool,
}

/// What tells how the whole installation fares.
///
/// It holds numbers for monitors, lists of what needs a look or is overdue, the sums of what models used, and the records of one correlation
/// id. All but the sums may be some seconds old: no decision may rest on the numbers.
///
/// Every open record has a time at which it becomes overdue (`EventRecord::overdue_at`, `Message::overdue_at`,
/// `Conversation::answer_overdue_at`, `InstanceState::next_probe_at`, `ParkedConversation::release_due_at`,
/// `Message::file_due_at`). The store keeps that time in an index together with what [`OverdueWork`] names of the record.
/// Records of the table that are due are listed by their features.
#[async_trait]
pub trait Overviews: Send + Sync {
    /// Returns the open work of the instances `of`, or of all (`None`), about `limit` records of each kind at most: the
    /// longest overdue ones. Work of other instances has no influence on the answer.
    async fn read_open_work(&self, of: Option<&[Instance]>, limit: usize) -> PortResult<OpenWork>;

    /// Returns the space on the disk that holds the records. `None`: they are not on a disk of the installation.
    async fn read_disk_space(&self) -> PortResult<Option<DiskSpace>> {
        Ok(None)
    }

    /// Returns the states of instances that do not work as they should: not open, silent, or without the model's key.
    /// About `limit` are returned at most. An instance that just opened may be among them.
    async fn list_troubled_instances(&self, limit: usize) -> PortResult<TroubledInstances>;

    /// Returns the conversations in which a person owes an answer since `before` or earlier, about `limit` at most:
    /// those that wait for the shortest time.
    async fn list_waiting_for_person(&self, before: Timestamp, limit: usize) -> PortResult<WaitingForPerson>;

    /// Lists the conversations in which a person owes an answer ([`Conversation::person_owed_since`]) and that match `filter`.
    /// Those that wait the longest come first. A page may hold fewer items than its limit.
    async fn list_waiting_conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<Page<Conversation>>;

    /// Counts, by instance, the messages whose acknowledgement is missing at `range.1` and was not yet at `range.0`. About
    /// `limit` instances are returned at most, and about `limit` messages are counted of one.
    async fn count_unacknowledged(
        &self,
        range: (Timestamp, Timestamp),
        limit: usize,
    ) -> PortResult<UnacknowledgedCounts>;

    /// Lists the messages whose acknowledgement is missing at `now` and that match `filter`; those of one instance the oldest
    /// first. A page may hold fewer items than its limit.
    async fn list_unacknowledged(
        &self,
        filter: &UnacknowledgedFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> PortResult<Page<UnacknowledgedMessage>>;

    /// Lists the records that were overdue at `now`, the longest overdue first. At most `limit` of each kind are listed,
    /// so that many of one kind do not hide another.
    async fn list_overdue(&self, now: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>>;

    /// Returns the records that carry `correlation`, in any order, at most `limit` in all. They are those of `tenant`, or of
    /// all tenants (`None`). An event is of the tenant of its instance as configured now. No processing step depends on it.
    async fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> PortResult<CorrelatedRecords>;

    /// Lists the sums of a tenant's use from the day `from` to the day `to`, both included. There is one of each agent, model, country and
    /// day, ordered by these. Expired ones are left out.
    async fn list_usage(&self, tenant: &TenantId, from: Date, to: Date) -> PortResult<Vec<UsageSum>>;
}

/// The instances with messages whose acknowledgement is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnacknowledgedCounts {
    /// One entry for each instance.
    pub instances: Vec<UnacknowledgedStatus>,
    /// `true` if there are more than were read.
    pub at_least: bool,
}

/// The filter of a list of messages whose acknowledgement is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnacknowledgedFilter {
    /// Only of this tenant.
    pub tenant: Option<TenantId>,
    /// Only of this instance.
    pub instance: Option<InstanceId>,
    /// Only those whose acknowledgement is missing since this time or later.
    pub due_from: Option<Timestamp>,
}

impl OwedAnswer {
    /// Returns the data about an owed answer that monitors see.
    pub fn from_conversation(conversation: &Conversation) -> Self {
        Self {
            instance: conversation.instance.clone(),
            since: conversation.waiting_since.unwrap_or(conversation.last_message_at),
        }
    }
}

/// The instances that do not work as they should.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TroubledInstances {
    /// Instances with their states.
    pub states: Vec<(InstanceId, InstanceState)>,
    /// `true` if there are more than were read.
    pub at_least: bool,
}

/// The conversations in which a person owes an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitingForPerson {
    /// Conversations, each with its tenant, its instance and the time since which the customer waits.
    pub waits: Vec<PersonWait>,
    /// `true` if there are more than were read.
    pub at_least: bool,
}

impl WaitingForPerson {
    /// Makes the list of those of `conversations` in which a person owes an answer.
    pub fn from_conversations(conversations: Vec<Conversation>, at_least: bool) -> Self {
        let wait = |conversation: Conversation| {
            Some(PersonWait {
                since: conversation.person_owed_since()?,
                needed: conversation.needs_person,
                tenant: conversation.tenant,
                instance: conversation.instance,
                conversation: conversation.id,
            })
        };
        Self {
            waits: conversations.into_iter().filter_map(wait).collect(),
            at_least,
        }
    }
}

impl OpenMessage {
    /// Returns the data about an outgoing message that monitors see; `None` for a message that Recado does not send.
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
    /// Returns the data about an event that monitors see.
    pub fn from_record<P>(record: &EventRecord<P>) -> Self {
        Self {
            provider: record.job.provider,
            external: record.job.external.clone(),
            since: record.job.received_at,
        }
    }
}
