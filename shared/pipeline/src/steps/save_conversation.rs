//! Writes a changed conversation.

use crate::Deps;
use recado_domain::conversation::Conversation;
use recado_ports::ports::{PortResult, WriteOutcome};

/// Writes a conversation that was read and changed, under its next revision.
pub async fn save_conversation(deps: &Deps, conversation: &mut Conversation) -> PortResult<WriteOutcome> {
    conversation.raise_revision();
    deps.store().update_conversation(conversation, &[]).await
}
