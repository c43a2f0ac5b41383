//! Ends the agent's pause for a loop of answers between it and another program.

use crate::Deps;
use crate::hooks::inbound_rule::InboundRule;
use crate::steps::inbound_arrival::InboundArrival;
use async_trait::async_trait;
use recado_domain::answer_loop::says_something_new;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_ports::ports::PortResult;

/// Ends the agent's pause for a loop once the contact says something new.
///
/// Test: `tests/kit/tests/use_cases/limits.rs#a_message_that_says_something_new_ends_the_pause_for_a_loop_and_no_other`.
#[derive(Debug)]
pub struct LoopPauseRule;

#[async_trait]
impl InboundRule for LoopPauseRule {
    /// Ends the agent's pause for a loop if the message says something else than the contact's last one. Only in such a pause is anything
    /// read.
    async fn apply_message(
        &self,
        deps: &Deps,
        arrival: &InboundArrival<'_>,
        conversation: &mut Conversation,
        message: &mut Message,
    ) -> PortResult<()> {
        if !arrival.wants_answer || !conversation.pauses_for_loop() {
            return Ok(());
        }
        let limit = deps.settings().turn_reads.messages;
        let found = deps.store().find_with_history(&conversation.id, limit).await?;
        let known = found.map(|(_, known)| known).unwrap_or_default();
        if says_something_new(message, &known) {
            tracing::info!("the contact says something new: the agent's pause for a loop is over");
            conversation.end_loop_pause(message.stored_at);
        }
        Ok(())
    }
}
