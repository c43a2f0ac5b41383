//! Keeps messages back that would take a contact's thread from another program, for example from Meta's own agent: the provider
//! gives the thread to whoever sends a message that is no template.

use crate::hooks::send_gate::{GateAnswer, SendContext, SendGate, SendMoment, StepResult, Stop};
use crate::steps::linked_threads::find_latest_conversation;
use async_trait::async_trait;
use recado_domain::message::Outgoing;
use recado_domain::reason::Reason;
use recado_domain::service_window::bypasses_window;
use recado_ports::Deps;
use recado_ports::deps::capabilities;

/// Promise: a message takes a contact's thread from another program only if a person or the setting `takes_threads` says so.
///
/// Test: `tests/kit/tests/use_cases/other_agents.rs#only_a_person_or_the_setting_takes_the_thread`.
pub(crate) struct ThreadHoldGate;

#[async_trait]
impl SendGate for ThreadHoldGate {
    fn moments(&self) -> &'static [SendMoment] {
        &[SendMoment::AfterSlot]
    }

    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer {
        check_thread_hold(deps, context, message).await?;
        Ok(None)
    }
}

/// Gives the message up if it would take the thread from another program, and no person said that it should. A person's answer says so,
/// the redrive of a dead letter, and `takes_threads` of the instance. A reply of the agent is void then, and is not looked at here. The
/// conversation is read only for a number of which another program was ever seen.
async fn check_thread_hold(deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> StepResult {
    let was_seen = context.known.is_some_and(|known| known.other_agent_at.is_some());
    let is_free = context.bound.instance.takes_threads || bypasses_window(&message.content);
    let has_routing = capabilities(deps, context.bound).has_service_window;
    if !was_seen || is_free || !has_routing || message.out.yields_to_takeover() || message.is_persons_word() {
        return Ok(());
    }
    let thread = message.conversation.thread_id().clone();
    let (_, latest) = find_latest_conversation(deps, thread).await?;
    let now = deps.system().now();
    let Some(holder) = latest.as_ref().and_then(|latest| latest.thread_holder(now)) else {
        return Ok(());
    };
    let why = format!("the thread is held by {holder}, and this message would take it");
    Err(Stop::GiveUp(Reason::HeldElsewhere, Some(why)))
}
