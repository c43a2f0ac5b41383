//! Reads outgoing messages as [`Outgoing`], and builds what a provider is given of them.

use crate::Deps;
use recado_domain::ids::{MessageId, ThreadId};
use recado_domain::message::{Message, Outgoing};
use recado_domain::wake_up::Redrive;
use recado_ports::ports::{OutgoingMessage, PortError, PortResult};
use recado_ports::records::dead_letters::remove_dead_letter;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Returns an outgoing message; `None` if no message has this id, or if it is not an outgoing message.
pub async fn find_outgoing(deps: &Deps, id: &MessageId) -> PortResult<Option<Outgoing>> {
    let message = deps.store().find_message(id).await?;
    Ok(message.and_then(Message::into_outgoing))
}

/// Lists a contact's open messages, by conversation and ordinal.
pub async fn list_open_outgoing(deps: &Deps, thread: &ThreadId) -> PortResult<Vec<Outgoing>> {
    let open = deps.store().list_open_messages(thread).await?;
    Ok(open.into_iter().filter_map(Message::into_outgoing).collect())
}

/// Builds the message that the provider is given.
pub fn to_outgoing_message(message: &Outgoing) -> OutgoingMessage {
    let out = &message.out;
    OutgoingMessage {
        id: message.message_id(),
        to: out.attempt_address().clone(),
        content: message.content_as_sent().into_owned(),
        options: out.options.clone(),
        attempt: out.attempts.max(1),
        model: message.model_kind(),
    }
}

/// Moves a dead-lettered message back to `queued` if `redrive.failed_at` is the time of its newest failure. A repeated or
/// outdated redrive leaves the message unchanged. The dead letter of that failure is removed in each case. Returns
/// whether the message was requeued.
///
/// The request of an operator and the send job that it enqueued do this at the same time. The slower one reads the message again, and
/// finds it requeued.
pub async fn requeue_dead_message(deps: &Deps, redrive: &Redrive) -> PortResult<bool> {
    let contended = PortError::contended("message");
    let requeued = retry_lost_write(contended, (), |()| requeue_read_message(deps, redrive)).await?;
    if requeued {
        tracing::info!(message_id = %redrive.message, "redriven");
    }
    // Also removed if the message was requeued before: that run may have crashed before it removed the dead letter.
    let id = redrive.message.as_str();
    remove_dead_letter(deps.store(), id, redrive.failed_at).await?;
    Ok(requeued)
}

/// Reads a message and requeues it if it is dead with this failure.
async fn requeue_read_message(deps: &Deps, redrive: &Redrive) -> PortResult<WriteAttempt<bool>> {
    let Some(mut message) = find_outgoing(deps, &redrive.message).await? else {
        return Ok(WriteAttempt::Done(false));
    };
    let copied = message.out.copied;
    let requeued = message.out.requeue_dead(deps.system().now(), redrive.failed_at);
    if requeued.is_err() {
        return Ok(WriteAttempt::Done(false));
    }
    message.out.sign_last_step(redrive.by.as_ref());
    // A dead message stays on the open list until its dead letter exists.
    let record = message.to_record();
    let written = if copied {
        deps.store().update_closed_message(&record, None).await?
    } else {
        deps.store().save_open_message(&record, None).await?
    };
    Ok(WriteAttempt::after_write(written, true))
}
