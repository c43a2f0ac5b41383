//! Conversations of people to which the agent was to come back.

use async_trait::async_trait;
use recado_domain::conversation::Conversation;
use recado_pipeline::Deps;
use recado_pipeline::hooks::feature_timer::FeatureTimer;
use recado_pipeline::steps::save_conversation::save_conversation;
use recado_pipeline::steps::wake_up;
use recado_ports::ports::{PortResult, WriteOutcome};
use recado_ports::random_id::generate_correlation_id;

/// The agent comes back to a conversation of people at its time, even if the job was lost.
#[derive(Debug)]
pub struct OverdueReturns;

#[async_trait]
impl FeatureTimer for OverdueReturns {
    fn name_in_report(&self) -> &'static str {
        "turns"
    }

    async fn handle_conversation(&self, deps: &Deps, conversation: &Conversation) -> PortResult<bool> {
        let now = deps.system().now();
        let overdue = conversation.return_due_at().is_some() && conversation.answer_overdue_at() <= Some(now);
        if !overdue {
            return Ok(false);
        }
        let mut conversation = conversation.clone();
        conversation.record_nudge(false, now);
        if save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict {
            return Ok(false);
        }
        tracing::warn!(conversation_id = %conversation.id, "the agent did not come back in time: asked for again");
        wake_up::enqueue_return_timer(deps, &conversation, &generate_correlation_id(deps.system())).await?;
        Ok(true)
    }
}
