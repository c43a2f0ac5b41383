//! Changes stored messages: what later messages say about them is recorded with them.

use crate::Deps;
use recado_domain::ids::MessageId;
use recado_domain::message::Message;
use recado_domain::usage::UsageSum;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// The result of changing a stored message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageUpdate {
    /// The message is as it should be, or does not exist.
    Done,
    /// The message is being sent. Its sender alone may write it.
    Open,
}

/// Changes the stored message `id` by `change`, which returns `false` if nothing is to be written. If another worker
/// wrote the message meanwhile, it is read and changed again.
pub async fn update_message(
    deps: &Deps,
    id: &MessageId,
    change: impl Fn(&mut Message) -> bool,
) -> PortResult<MessageUpdate> {
    retry_lost_write(PortError::contended("message"), (), |()| async {
        let Some(mut message) = deps.store().find_message(id).await? else {
            return Ok(WriteAttempt::Done(MessageUpdate::Done));
        };
        if !change(&mut message) {
            return Ok(WriteAttempt::Done(MessageUpdate::Done));
        }
        if message.is_open() {
            return Ok(WriteAttempt::Done(MessageUpdate::Open));
        }
        let written = write_changed_message(deps, &mut message, None).await?;
        Ok(WriteAttempt::after_write(written, MessageUpdate::Done))
    })
    .await
}

/// Writes a message that was read and changed, under its next revision. One that was sent is a conflict while it is open.
pub async fn write_changed_message(
    deps: &Deps,
    message: &mut Message,
    used: Option<&UsageSum>,
) -> PortResult<WriteOutcome> {
    message.raise_revision();
    deps.store().update_closed_message(message, used).await
}

/// Records `later`, a reaction, an edit or a deletion, with the message that it is about. Other messages change nothing.
pub async fn record_change(deps: &Deps, later: &Message) -> PortResult<MessageUpdate> {
    match &later.context.refers_to {
        Some(target) if later.content.changes_target() => {
            update_message(deps, target, |message| message.record_change(later)).await
        }
        _ => Ok(MessageUpdate::Done),
    }
}
