//! Asks, before a message of a batch leaves, whether its batch is paused.

use async_trait::async_trait;
use recado_domain::invitations::BatchState;
use recado_domain::message::Outgoing;
use recado_domain::outbox::OutboxState;
use recado_pipeline::Deps;
use recado_pipeline::hooks::send_gate::{GateAnswer, SendGate};
use recado_pipeline::steps::sending::{SendContext, Stop};
use recado_ports::records::batches::find_batch;

/// Promise: nothing else to a contact waits for a message of a paused batch. In the message's own group, `PermissionGate` keeps it.
///
/// Test: `tests/kit/tests/use_cases/batches.rs#a_paused_batch_waits_and_goes_on_and_holds_up_nothing_else`.
#[derive(Debug)]
pub struct PausedBatchGate;

#[async_trait]
impl SendGate for PausedBatchGate {
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let is_queued = message.out.state == OutboxState::Queued;
        let Some(batch) = message.out.batch.as_ref().filter(|_| is_queued) else {
            return Ok(None);
        };
        let batch = find_batch(deps.store(), &context.bound.tenant.id, batch).await?;
        match batch.map(|batch| batch.record.state) {
            Some(BatchState::Paused) => Err(Stop::Finished),
            _ => Ok(None),
        }
    }
}
