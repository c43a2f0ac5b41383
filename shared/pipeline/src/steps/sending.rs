//! The values that the steps of a send job hand on: its context, and the stop of a message that does not leave now.

use crate::steps::verdict::Verdict;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::instance::InstanceState;
use recado_domain::outbox::InvalidTransition;
use recado_domain::provider::ProviderCapabilities;
use recado_domain::reason::Reason;
use recado_ports::ports::PortError;

/// The data that every step of a send job needs.
#[derive(Debug, Clone, Copy)]
pub struct SendContext<'a> {
    pub bound: &'a InstanceConfig,
    pub capabilities: &'a ProviderCapabilities,
    /// Time after which the function would end before the provider's answer could be stored; `None` if there is no limit.
    pub last_start: Option<Timestamp>,
    /// The instance's state when the message's slot was reserved; `None` before that.
    pub known: Option<&'a InstanceState>,
    /// Nothing is left of the send job once the message is sent.
    pub ends_job: bool,
}

/// Waits longer than this are parked and not left in the queue. A queue can hide a message for
/// longer, but messages with distant slots must not use up a function's concurrency.
pub const PARK_BEYOND: SignedDuration = SignedDuration::from_mins(15);

/// Why a message does not leave now. The sender does what follows from it.
#[derive(Debug)]
pub enum Stop {
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
pub const RETRY_SOON: Stop = Stop::Later(Verdict::RETRY_SOON);

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
pub type StepResult<T = ()> = Result<T, Stop>;
