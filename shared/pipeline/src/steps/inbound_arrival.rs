//! An event of an instance, and the message that it brings: the processing hands both on. The age of a message, and the time for
//! which an event is recognized again.

use crate::Deps;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::{InstanceConfig, Tenant};
use recado_domain::event::InboundJob;
use recado_domain::inbound::InboundMessage;
use recado_domain::millis::add_duration;
use recado_domain::retention::RetentionPeriod;
use recado_domain::thread_hold::ThreadControl;

/// An event of an instance that is configured and enabled.
#[derive(Debug, Clone, Copy)]
pub struct InstanceEvent<'a> {
    /// Job that names the event.
    pub job: &'a InboundJob,
    /// The event's instance.
    pub bound: &'a InstanceConfig,
    /// Time at which the worker began.
    pub started_at: Timestamp,
}

/// A message as its event brings it: the contact's, or one that was typed on the phone.
#[derive(Debug, Clone, Copy)]
pub struct InboundArrival<'a> {
    /// Job that names the event.
    pub job: &'a InboundJob,
    /// The event's instance.
    pub bound: &'a InstanceConfig,
    /// Time at which the worker began.
    pub started_at: Timestamp,
    /// Message as the webhook tells it.
    pub inbound: &'a InboundMessage,
    /// The message was too old when it arrived.
    pub stale: bool,
    /// An answer to the message is owed.
    pub wants_answer: bool,
}

impl<'a> InboundArrival<'a> {
    /// Judges the message of an event.
    pub fn new(deps: &Deps, event: &InstanceEvent<'a>, inbound: &'a InboundMessage) -> Self {
        let stale = is_stale(deps, event.job, inbound);
        Self {
            job: event.job,
            bound: event.bound,
            started_at: event.started_at,
            inbound,
            stale,
            wants_answer: asks_for_answer(inbound) && !stale,
        }
    }

    /// Returns `true` if the contact wrote the message.
    pub fn is_of_contact(&self) -> bool {
        !self.inbound.from_me
    }

    /// Returns the time when the message was written, by the provider's clock, but not after its arrival. A provider's clock
    /// that is ahead must not place messages after the answers to them.
    pub fn written_at(&self) -> Timestamp {
        let received_at = self.job.received_at;
        self.inbound
            .sent_at
            .map_or(received_at, |sent_at| sent_at.min(received_at))
    }
}

/// Returns `true` if an answer to the message is owed: it asks for one and is ours to answer, or it says that the thread was passed to
/// us, so that what the contact wrote elsewhere waits for us.
fn asks_for_answer(inbound: &InboundMessage) -> bool {
    let is_passed = inbound.thread == Some(ThreadControl::PassedToUs);
    let is_asking = is_passed || (inbound.content.expects_answer() && inbound.not_owed.is_none());
    is_asking && !inbound.from_me
}

/// Returns `true` if the message was too old when it arrived. Old messages come with history syncs and late retries;
/// they are stored and not answered.
pub fn is_stale(deps: &Deps, job: &InboundJob, inbound: &InboundMessage) -> bool {
    inbound
        .sent_at
        .is_some_and(|sent_at| add_duration(sent_at, deps.settings().stale_after) < job.received_at)
}

/// Returns the time for which an applied event of `tenant` is recognized again: the tenant's own, or the installation's.
pub fn event_period(deps: &Deps, tenant: Option<&Tenant>) -> SignedDuration {
    let own = tenant.and_then(|tenant| tenant.retention.events);
    own.map_or(deps.settings().event_ttl, RetentionPeriod::to_duration)
}
