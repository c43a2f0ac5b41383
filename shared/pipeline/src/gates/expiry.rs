//! Looks at a message's times: it waits until it is due, and is cancelled once what it says is over.

use crate::hooks::send_gate::{PARK_BEYOND, SendContext, SendGate, StepResult, Stop};
use crate::steps::verdict::Verdict;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::invitations::BATCH_PERMIT;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_ports::Deps;
use recado_ports::records::effects::find_journal;

/// Promise: a message with an end does not leave after it. Other messages do not wait for it in another group either.
///
/// Test: `tests/kit/tests/use_cases/openings.rs#what_could_not_leave_before_the_opening_is_cancelled`.
pub(crate) struct ExpiryGate;

#[async_trait]
impl SendGate for ExpiryGate {
    async fn check(
        &self,
        deps: &Deps,
        _context: SendContext<'_>,
        message: &Outgoing,
    ) -> StepResult<Option<Timestamp>> {
        let Some(end) = message.out.expires_at else {
            return Ok(None);
        };
        let now = deps.system().now();
        if end <= now && message.out.state == OutboxState::Queued {
            return Err(Stop::Cancel(Reason::Expired));
        }
        Ok(Some(add_duration(now, BATCH_PERMIT)))
    }
}

/// Promise: a message leaves not before its time, and neither do those behind it.
///
/// Test: `tests/kit/tests/use_cases/waiting.rs#a_retry_waits_and_the_fifth_failure_is_the_last`.
pub(crate) struct DueGate;

#[async_trait]
impl SendGate for DueGate {
    /// A wait of more than [`PARK_BEYOND`] is parked.
    async fn check(
        &self,
        deps: &Deps,
        _context: SendContext<'_>,
        message: &Outgoing,
    ) -> StepResult<Option<Timestamp>> {
        let now = deps.system().now();
        match message.out.not_before {
            Some(at) if at > add_duration(now, PARK_BEYOND) => Err(Stop::Park(Some(at))),
            Some(at) if at > now => Err(Stop::Wait(Verdict::retry_at(at, now))),
            _ => Ok(None),
        }
    }
}

/// Promise: a reminder does not leave if its appointment was moved or cancelled since the reminder fell due.
///
/// Test: `tests/kit/tests/use_cases/reminders.rs#a_reminder_that_still_waits_to_be_sent_goes_with_the_appointment_and_with_its_time`.
pub(crate) struct VoidReminderGate;

#[async_trait]
impl SendGate for VoidReminderGate {
    async fn check(
        &self,
        deps: &Deps,
        context: SendContext<'_>,
        message: &Outgoing,
    ) -> StepResult<Option<Timestamp>> {
        let Some(reminded) = &message.out.reminds_of else {
            return Ok(None);
        };
        let asked_at = deps.system().now();
        let journal = find_journal(deps.store(), &context.bound.tenant.id, &reminded.thread).await?;
        if journal.is_some_and(|journal| journal.record.has_reminded_appointment(reminded)) {
            return Ok(Some(add_duration(asked_at, BATCH_PERMIT)));
        }
        Err(Stop::Cancel(Reason::Expired))
    }
}
