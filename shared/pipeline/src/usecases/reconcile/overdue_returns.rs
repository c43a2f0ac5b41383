//! Asks again for the return of the agent, if its timer was lost.

use crate::Deps;
use crate::steps::save_conversation::save_conversation;
use crate::steps::wake_up;
use recado_domain::conversation::Conversation;
use recado_ports::ports::{PortResult, WriteOutcome};
use recado_ports::random_id::generate_correlation_id;

/// Starts the timer of an overdue return again. Returns `false` if none is overdue, or the conversation was changed
/// meanwhile.
pub(super) async fn restart_overdue_return(deps: &Deps, mut conversation: Conversation) -> PortResult<bool> {
    let now = deps.system().now();
    let overdue = conversation.return_due_at().is_some() && conversation.answer_overdue_at() <= Some(now);
    if !overdue {
        return Ok(false);
    }
    conversation.record_nudge(false, now);
    if save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict {
        return Ok(false);
    }
    tracing::warn!(conversation_id = %conversation.id, "the agent did not come back in time: asked for again");
    wake_up::enqueue_return_timer(deps, &conversation, &generate_correlation_id(deps.system())).await?;
    Ok(true)
}
