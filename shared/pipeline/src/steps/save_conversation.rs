//! Writes a changed conversation.

use recado_domain::conversation::{Conversation, UnsentUse};
use recado_domain::usage::resolve_usage_day;
use recado_ports::Deps;
use recado_ports::ports::{PortResult, WriteOutcome};

/// Writes a conversation that was read and changed, under its next revision.
pub(crate) async fn save_conversation(
    deps: &Deps,
    conversation: &mut Conversation,
) -> PortResult<WriteOutcome> {
    conversation.raise_revision();
    deps.store().update_conversation(conversation, &[]).await
}

/// Writes a conversation that was read and changed, and with it what a turn used that ended without a reply.
pub(crate) async fn save_conversation_with_use(
    deps: &Deps,
    conversation: &mut Conversation,
    unsent: &UnsentUse,
) -> PortResult<WriteOutcome> {
    let today = resolve_usage_day(deps.system().now());
    let used = conversation.record_unsent_use(unsent, today);
    if used.is_empty() {
        return save_conversation(deps, conversation).await;
    }
    conversation.raise_revision();
    deps.store().update_conversation(conversation, &used).await
}
