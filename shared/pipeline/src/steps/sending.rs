//! The values that the steps of a send job hand on: its context, and the stop of a message that does not leave now.

use crate::Deps;
use crate::steps::verdict::Verdict;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::ids::InstanceId;
use recado_domain::instance::InstanceState;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::InvalidTransition;
use recado_domain::provider::ProviderCapabilities;
use recado_domain::rate::{Rate, is_long_wait};
use recado_domain::reason::Reason;
use recado_ports::ports::PortError;
use recado_ports::random_id::generate_nonce;

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

/// Time for which a provider's answer is stored, after it came.
const STORE_TIME: SignedDuration = SignedDuration::from_secs(5);

/// Returns the time after which no attempt begins in a function that ends at `deadline`: the provider's answer could not be stored.
pub fn find_last_start(deps: &Deps, deadline: Option<Timestamp>) -> Option<Timestamp> {
    let need = deps.settings().provider_timeout.saturating_add(STORE_TIME);
    deadline.map(|deadline| add_duration(deadline, -need))
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

/// Begins an attempt in a queued message: it is to be stored before the request.
pub fn begin_attempt(deps: &Deps, message: &mut Outgoing, now: Timestamp) -> Result<(), InvalidTransition> {
    let until = add_duration(now, deps.settings().send_lease);
    message
        .out
        .claim_attempt(generate_nonce(deps.system()), now, until)
}

/// Logs a warning if a message waits long for its slot.
pub fn warn_of_long_wait(instance: &InstanceId, wait: SignedDuration, rate: Rate) {
    if is_long_wait(wait, rate) {
        let wait_seconds = wait.as_secs();
        tracing::warn!(instance_id = %instance, wait_seconds, "a message waits long for a slot of its instance's rate");
    }
}
