//! Finds the reply that answers a message, and the message that a reply answers.

use recado_domain::conversation::Conversation;
use recado_domain::ids::Ordinal;
use recado_domain::message::{Message, Role};
use recado_domain::outbox::OutboxState;
use recado_ports::Deps;
use recado_ports::ports::{PageRequest, PortResult};

/// Number of messages that one read returns, and maximum number of reads. No reply is looked for beyond the newest
/// 4,000 messages of the conversation.
const PAGE: usize = 200;
const PAGES_MAX: usize = 20;

/// Finds the first reply that covers `asked`, the agent's or a person's. A cancelled reply is returned only if there is
/// no other.
pub(super) async fn find_answer(
    deps: &Deps,
    conversation: &Conversation,
    asked: &Message,
) -> PortResult<Option<Message>> {
    let (mut sent, mut cancelled) = (None, None);
    let mut page = PageRequest::first(PAGE);
    for _ in 0..PAGES_MAX {
        let found = deps.store().list_messages(&conversation.id, &page).await?;
        let oldest = found.items.last().map(|message| message.ordinal);
        // The newest messages come first, so the last match is the earliest reply.
        for message in found
            .items
            .into_iter()
            .filter(|message| message.ordinal > asked.ordinal)
        {
            if covers_ordinal(&message, conversation, asked.ordinal) {
                if is_cancelled(&message) {
                    cancelled = Some(message);
                } else {
                    sent = Some(message);
                }
            }
        }
        match found.next_cursor {
            Some(cursor) if oldest.is_some_and(|oldest| oldest > asked.ordinal) => page.cursor = Some(cursor),
            _ => break,
        }
    }
    Ok(sent.or(cancelled))
}

fn covers_ordinal(reply: &Message, conversation: &Conversation, asked: Ordinal) -> bool {
    match (&reply.out, reply.role) {
        (Some(out), _) => out.covers >= asked,
        // Typed on the phone: only the conversation tells up to which ordinal people answered.
        (None, Role::Operator) => conversation.human >= asked,
        (None, Role::User | Role::Assistant) => false,
    }
}

fn is_cancelled(message: &Message) -> bool {
    let state = message.out.as_ref().map(|out| &out.state);
    matches!(state, Some(OutboxState::Cancelled { .. }))
}

/// Finds the newest message of the contact that `reply` covers.
pub(super) async fn find_answered_message(deps: &Deps, reply: &Message) -> PortResult<Option<Message>> {
    let covers = reply.out.as_ref().map_or(Ordinal(0), |out| out.covers);
    if covers == Ordinal(0) {
        return Ok(None);
    }
    let found = deps
        .store()
        .find_message(&reply.conversation.message_id(covers))
        .await?;
    Ok(found.filter(|message| message.role == Role::User))
}

/// Returns the message, and the message that it answers or that answers it.
pub(super) async fn load_with_counterpart(deps: &Deps, message: Message) -> PortResult<Vec<Message>> {
    let other = if message.role == Role::User {
        match deps.store().find_conversation(&message.conversation).await? {
            Some(conversation) => find_answer(deps, &conversation, &message).await?,
            None => None,
        }
    } else {
        find_answered_message(deps, &message).await?
    };
    Ok(std::iter::once(message).chain(other).collect())
}
