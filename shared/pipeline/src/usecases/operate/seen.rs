//! Records what people looked at. It changes nothing for the contact, so the audit does not have it.

use super::{OperateError, find_conversation};
use crate::steps::save_conversation::save_conversation;
use recado_domain::access::Caller;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_ports::Deps;
use recado_ports::ports::WriteOutcome;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Records that a person looked at the messages up to `seen`, and returns the conversation. Nothing is written if nobody is waited
/// for, or if that much was looked at before.
pub async fn record_seen(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    seen: Ordinal,
) -> Result<Conversation, OperateError> {
    retry_lost_write(OperateError::Busy, (), |()| async move {
        let mut conversation = find_conversation(deps, caller, id).await?;
        if conversation.record_seen(seen)
            && save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict
        {
            return Ok(WriteAttempt::Lost(()));
        }
        Ok::<_, OperateError>(WriteAttempt::Done(conversation))
    })
    .await
}
