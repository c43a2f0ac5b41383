//! Writes a changed conversation.

use crate::Deps;
use crate::ports::{Conversations, PortResult, WriteOutcome};
use recado_domain::conversation::Conversation;

/// Writes a conversation that was read and changed, under its next revision.
pub(crate) async fn save_conversation(
    deps: &impl Deps,
    conversation: &mut Conversation,
) -> PortResult<WriteOutcome> {
    conversation.rev += 1;
    deps.store().update_conversation(conversation).await
}
