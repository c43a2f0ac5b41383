//! The gates of a message: they are asked whether it may leave, and until when that holds.

use crate::steps::verdict::Verdict;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::instance::InstanceState;
use recado_domain::message::Outgoing;
use recado_domain::outbox::InvalidTransition;
use recado_domain::provider::ProviderCapabilities;
use recado_domain::reason::Reason;
use recado_ports::Deps;
use recado_ports::ports::PortError;

/// The data that every step of a send job needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendContext<'a> {
    pub(crate) bound: &'a InstanceConfig,
    pub(crate) capabilities: &'a ProviderCapabilities,
    /// Time after which the function would end before the provider's answer could be stored; `None` if there is no limit.
    pub(crate) last_start: Option<Timestamp>,
    /// The instance's state when the message's slot was reserved; `None` before that.
    pub(crate) known: Option<&'a InstanceState>,
    /// Nothing is left of the send job once the message is sent.
    pub(crate) ends_job: bool,
}

/// Waits longer than this are parked and not left in the queue. A queue can hide a message for
/// longer, but messages with distant slots must not use up a function's concurrency.
pub(crate) const PARK_BEYOND: SignedDuration = SignedDuration::from_mins(15);

/// The moments at which gates are asked. All but `OtherGroup` are on a message's way, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendMoment {
    /// A send job comes to a message that another FIFO group handles.
    OtherGroup,
    /// A send job comes to a queued message. Nothing was looked up for it.
    Queued,
    /// No evidence tells that the message was sent. It has no slot, and may not be due yet.
    BeforeSlot,
    /// The message has a slot, and its instance is open.
    AfterSlot,
    /// Everything is ready for the attempt, which is claimed next.
    BeforeClaim,
}

/// Why a message does not leave now. The sender does what follows from it.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The message is passed over: it is finished, or nothing else waits for it. The sender goes on with the next one.
    Finished,
    /// The send job ends with this verdict, and the messages behind wait too.
    Later(Verdict),
    /// As `Later`, unless the message is a void reply: that one is cancelled.
    Wait(Verdict),
    /// The conversation is parked until this time, or until its instance opens. A void reply is cancelled.
    Park(Option<Timestamp>),
    /// The message is not overdue before this time, and its conversation is parked until then.
    Postpone(Timestamp),
    /// The message is a void reply, and is cancelled.
    Void,
    /// The message is not to leave any more, and is cancelled. Nothing follows from it.
    Cancel(Reason),
    /// The message is given up, with what explains it in its history.
    GiveUp(Reason, Option<String>),
    /// A store or queue failed.
    Port(PortError),
}

/// Stops the send job and retries it soon, for example after a conditional write failed. Continuing with the next
/// message would send reply 2 before reply 1.
pub(crate) const RETRY_SOON: Stop = Stop::Later(Verdict::RETRY_SOON);

impl From<PortError> for Stop {
    fn from(error: PortError) -> Self {
        Self::Port(error)
    }
}

impl From<InvalidTransition> for Stop {
    /// The message is in another state than it was read in: the retried send job reads what is stored.
    fn from(_: InvalidTransition) -> Self {
        RETRY_SOON
    }
}

/// The result of a step of a send job.
pub(crate) type StepResult<T = ()> = Result<T, Stop>;

/// The answer of a gate: the time until which the message may leave, or `None` without a limit.
pub(crate) type GateAnswer = StepResult<Option<Timestamp>>;

/// Looks at a message before it leaves, and may keep it back.
#[async_trait]
pub(crate) trait SendGate: Send + Sync {
    /// Lets the message pass, or stops it. Returns the time until which the answer holds; `None` if it holds without a limit.
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer;
}
