//! Reads outgoing messages as [`Outgoing`], and builds what a provider is given of them.

use recado_domain::ids::{MessageId, ThreadId};
use recado_domain::message::{Message, Outgoing};
use recado_ports::Deps;
use recado_ports::ports::{OutgoingMessage, PortResult};

/// Returns an outgoing message; `None` if no message has this id, or if it is not an outgoing message.
pub(crate) async fn find_outgoing(deps: &Deps, id: &MessageId) -> PortResult<Option<Outgoing>> {
    let message = deps.store().find_message(id).await?;
    Ok(message.and_then(Message::into_outgoing))
}

/// Lists a contact's open messages, by conversation and ordinal.
pub(crate) async fn list_open_outgoing(deps: &Deps, thread: &ThreadId) -> PortResult<Vec<Outgoing>> {
    let open = deps.store().list_open_messages(thread).await?;
    Ok(open.into_iter().filter_map(Message::into_outgoing).collect())
}

/// Builds the message that the provider is given.
pub(crate) fn to_outgoing_message(message: &Outgoing) -> OutgoingMessage {
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
