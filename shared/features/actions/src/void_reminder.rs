//! Asks, before a reminder leaves, whether what it reminds of is still to come.

use async_trait::async_trait;
use recado_domain::invitations::BATCH_PERMIT;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::reason::Reason;
use recado_pipeline::Deps;
use recado_pipeline::hooks::send_gate::{GateAnswer, SendGate};
use recado_pipeline::steps::sending::{SendContext, Stop};
use recado_ports::records::effects::find_journal;

/// Promise: a reminder does not leave if its appointment was moved or cancelled since the reminder fell due.
///
/// Test: `tests/kit/tests/use_cases/reminders.rs#a_reminder_that_still_waits_to_be_sent_goes_with_the_appointment_and_with_its_time`.
#[derive(Debug)]
pub struct VoidReminderGate;

#[async_trait]
impl SendGate for VoidReminderGate {
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
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
