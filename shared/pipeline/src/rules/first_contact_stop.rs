//! Stops first contacts where the provider refuses them.

use crate::Deps;
use crate::deps::capabilities;
use crate::hooks::inbound_rule::{InboundRule, LateFailure};
use crate::steps::first_contact::stop_first_contacts;
use crate::steps::inbound_arrival::InstanceEvent;
use async_trait::async_trait;
use recado_ports::ports::PortResult;

/// Stops an instance's first contacts after a linked phone's WhatsApp refused one.
///
/// Test: `tests/kit/tests/use_cases/identity_attempts.rs#a_failure_for_the_number_before_it_leaves_is_the_end_and_stops_first_contacts`.
#[derive(Debug)]
pub struct FirstContactStopRule;

#[async_trait]
impl InboundRule for FirstContactStopRule {
    /// WhatsApp refuses a first contact where the number may begin no chats. The refusal itself is not told, so any failure of such a
    /// message after its acceptance counts. Of a message that is repeated, only the attempt for the number counts, which the one by
    /// the linked identity follows.
    async fn note_failure(
        &self,
        deps: &Deps,
        event: &InstanceEvent<'_>,
        failed: &LateFailure<'_>,
    ) -> PortResult<()> {
        let LateFailure { message, is_repeated } = *failed;
        if is_repeated && message.out.identity_attempt.is_none() {
            return Ok(());
        }
        if !capabilities(deps, event.bound).acceptance_is_local {
            return Ok(());
        }
        stop_first_contacts(deps, &event.bound.instance.id, message).await
    }
}
