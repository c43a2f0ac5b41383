//! Which reply answers which message.

use crate::Deps;
use crate::ports::{Conversations, PageRequest, PortResult};
use recado_domain::conversation::Conversation;
use recado_domain::ids::Ordinal;
use recado_domain::message::{Message, Role};
use recado_domain::outbox::OutboxState;

/// How many messages one read brings, and how many reads are made: further back than that, nobody looks for a reply.
const PAGE: usize = 200;
const PAGES_MAX: usize = 20;

/// The message that answers `asked`: the first reply that covers it, the agent's or a person's. One that was cancelled
/// counts only if there is no other.
pub(super) async fn find_answer<W: Deps>(
    deps: &W,
    conversation: &Conversation,
    asked: &Message,
) -> PortResult<Option<Message>> {
    let (mut sent, mut cancelled) = (None, None);
    let mut page = PageRequest {
        limit: PAGE,
        cursor: None,
    };
    for _ in 0..PAGES_MAX {
        let found = deps.store().list_messages(&conversation.id, &page).await?;
        let oldest = found.items.last().map(|message| message.ordinal);
        // The newest come first: the last that fits is the first that was said.
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
        // Typed on the phone: only the conversation knows how far people answered.
        (None, Role::Operator) => conversation.human >= asked,
        (None, Role::User | Role::Assistant) => false,
    }
}

fn is_cancelled(message: &Message) -> bool {
    let state = message.out.as_ref().map(|out| &out.state);
    matches!(state, Some(OutboxState::Cancelled { .. }))
}

/// The newest message of the contact that `reply` covers.
pub(super) async fn find_answered_message<W: Deps>(deps: &W, reply: &Message) -> PortResult<Option<Message>> {
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

/// The message and what it answers or is answered by.
pub(super) async fn load_with_counterpart<W: Deps>(deps: &W, message: Message) -> PortResult<Vec<Message>> {
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
