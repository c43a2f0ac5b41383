//! Holds messages to people who never wrote back while WhatsApp lets the number begin no chats: each try would prolong that.

use crate::hooks::after_commit::AfterCommit;
use crate::hooks::send_gate::{GateAnswer, RETRY_SOON, SendContext, SendGate, SendMoment, Stop};
use crate::steps::first_contact::{is_first_contact, stop_first_contacts};
use async_trait::async_trait;
use recado_domain::config::InstanceConfig;
use recado_domain::instance::InstanceChange;
use recado_domain::message::Outgoing;
use recado_ports::Deps;
use recado_ports::ports::PortResult;

/// Promise: after a refused first contact no other one leaves until the stop is over, and then one message is tried before the others.
///
/// Messages to people who wrote go on: whether this one did is read only while the stop lasts. After its end one message is tried, and
/// the others follow if it was not refused.
///
/// Test: `tests/kit/tests/use_cases/refusals.rs#after_a_refused_first_contact_no_other_leaves_for_six_hours_and_replies_do`.
pub(crate) struct FirstContactGate;

#[async_trait]
impl SendGate for FirstContactGate {
    fn moments(&self) -> &'static [SendMoment] {
        &[SendMoment::AfterSlot]
    }

    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        let Some(known) = context.known else {
            return Ok(None);
        };
        let Some(until) = known.first_contacts_from else {
            return Ok(None);
        };
        if !is_first_contact(deps, message).await? {
            return Ok(None);
        }
        let instance = &context.bound.instance.id;
        let now = deps.system().now();
        if until <= now {
            let tries = InstanceChange::TryFirstContact { until, now };
            let changed = deps
                .store()
                .change_instance_state(instance, known, &tries)
                .await?;
            return if changed.done { Ok(None) } else { Err(RETRY_SOON) };
        }
        // Not `not_before`: once the person writes, the message goes on at once, before what answers the person.
        Err(Stop::Postpone(until))
    }
}

#[async_trait]
impl AfterCommit for FirstContactGate {
    /// Stops the first contacts of the instance whose new chat was refused.
    async fn new_chat_was_refused(
        &self,
        deps: &Deps,
        bound: &InstanceConfig,
        message: &Outgoing,
    ) -> PortResult<()> {
        stop_first_contacts(deps, &bound.instance.id, message).await
    }
}
