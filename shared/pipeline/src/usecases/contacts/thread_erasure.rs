//! Erases the conversations of one thread.

use super::erase::EraseReport;
use super::export::upload_key;
use super::lookup::{FoundContact, list_thread};
use crate::Deps;
use crate::ports::{
    Conversations, DELETED_MESSAGES_MAX, ErasableRecords, OutboxStore, PortError, PortResult, Queues,
    RetainedRecords, System, WRITE_TRIES, WriteOutcome,
};
use crate::steps::identity::derive_thread_id;
use crate::steps::save_conversation::save_conversation;
use futures::future::try_join_all;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::DeliveryKey;
use recado_domain::ids::{ConversationId, Ordinal, ThreadId};
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;

/// The state of a thread's erasure.
pub(super) enum ThreadErasure {
    /// Nothing is left but the tombstone.
    Done,
    /// A message is being sent until this time at the latest. Its outcome is awaited, so that its echo is not taken for a
    /// new message.
    WaitsUntil(Timestamp),
}

/// Erases the conversations that a thread has now. A conversation that begins meanwhile is left alone.
pub(super) async fn erase_thread(
    deps: &impl Deps,
    contact: &FoundContact,
    thread: &ThreadId,
    done: &mut EraseReport,
) -> PortResult<ThreadErasure> {
    let Some(latest) = close_thread(deps, thread).await? else {
        return Ok(ThreadErasure::Done);
    };
    if let Some(until) = find_running_send(deps, &latest.id).await? {
        return Ok(ThreadErasure::WaitsUntil(until));
    }
    // Before the messages: a tombstone does not lead to the person's other threads any more.
    delete_notes_of_sends(deps, contact, thread).await?;
    for conversation in list_thread(deps, latest.clone()).await? {
        if conversation.id != latest.id {
            erase_messages(deps, contact, conversation, done).await?;
        }
    }
    if latest.is_erased() {
        return Ok(ThreadErasure::Done);
    }
    erase_messages(deps, contact, latest, done).await?;
    Ok(ThreadErasure::Done)
}

/// Begins the erasure of the thread's newest conversation and returns it; `None` if the thread has no conversation.
async fn close_thread(deps: &impl Deps, thread: &ThreadId) -> PortResult<Option<Conversation>> {
    for _ in 0..WRITE_TRIES {
        let Some(mut latest) = deps.store().find_latest_conversation(thread).await? else {
            return Ok(None);
        };
        if latest.erased_at.is_some() {
            return Ok(Some(latest));
        }
        latest.begin_erasure(deps.system().now());
        if save_conversation(deps, &mut latest).await? == WriteOutcome::Written {
            return Ok(Some(latest));
        }
    }
    Err(PortError::contended("conversation"))
}

/// Returns the time until which an attempt to send a message of these conversations may run.
async fn find_running_send(deps: &impl Deps, newest: &ConversationId) -> PortResult<Option<Timestamp>> {
    let now = deps.system().now();
    let open = deps.store().list_open_messages(newest.thread_id()).await?;
    let running = open
        .iter()
        .filter(|message| message.conversation.number_in_thread() <= newest.number_in_thread())
        .filter_map(|message| match message.out.as_ref()?.state {
            OutboxState::Sending { lease_until, .. } => Some(lease_until),
            _ => None,
        });
    Ok(running.filter(|until| *until > now).max())
}

/// Deletes the notes of the attempts to send a message of the thread. Each holds the person's address.
async fn delete_notes_of_sends(
    deps: &impl Deps,
    contact: &FoundContact,
    thread: &ThreadId,
) -> PortResult<()> {
    let instance = &contact.instance.id;
    for flight in deps.store().list_in_flight(instance).await? {
        let conversation = flight.message.conversation_and_ordinal();
        if conversation.is_ok_and(|(conversation, _)| conversation.thread_id() == thread) {
            deps.store().delete_in_flight(instance, &flight).await?;
        }
    }
    Ok(())
}

/// Erases the messages of a conversation with all that belongs to them, then the conversation: the tombstone loses what
/// is left of the contact, an earlier conversation is deleted.
async fn erase_messages(
    deps: &impl Deps,
    contact: &FoundContact,
    mut conversation: Conversation,
    done: &mut EraseReport,
) -> PortResult<()> {
    let mut tries = 0;
    while tries < WRITE_TRIES {
        let messages = deps
            .store()
            .list_messages_after(&conversation.id, Ordinal(0), DELETED_MESSAGES_MAX)
            .await?;
        let beside: Vec<_> = messages
            .iter()
            .map(|message| erase_beside(deps, contact, message))
            .collect();
        try_join_all(beside).await?;
        let written = if let Some(last) = messages.last() {
            conversation.trim_history(last.ordinal.next_ordinal(), conversation.last_message_at);
            conversation.rev += 1;
            deps.store().delete_messages(&conversation, &messages).await?
        } else if conversation.erased_at.is_some() {
            delete_known_alias(deps, contact, &conversation).await?;
            conversation.finish_erasure();
            conversation.rev += 1;
            deps.store().delete_messages(&conversation, &[]).await?
        } else {
            deps.store().delete_conversation(&conversation).await?
        };
        match written {
            WriteOutcome::Written if messages.is_empty() => {
                done.conversations += 1;
                return Ok(());
            }
            WriteOutcome::Written => done.messages += messages.len(),
            WriteOutcome::Conflict => {
                tries += 1;
                let Some(again) = deps.store().find_conversation(&conversation.id).await? else {
                    return Ok(());
                };
                conversation = again;
            }
        }
    }
    Err(PortError::contended("conversation"))
}

/// Forgets the number of the identity that the conversation knows, unless that identity was asked for: then it is
/// forgotten last.
async fn delete_known_alias(
    deps: &impl Deps,
    contact: &FoundContact,
    conversation: &Conversation,
) -> PortResult<()> {
    match conversation
        .known_as
        .as_ref()
        .filter(|known| **known != contact.entry)
    {
        Some(known) => {
            let thread = derive_thread_id(deps, &contact.instance.id, known.as_str()).await?;
            deps.store().delete_alias(&thread).await
        }
        None => Ok(()),
    }
}

/// Erases what lies beside a message: deliveries, the client's key, the upload, the large body that brought it.
async fn erase_beside(deps: &impl Deps, contact: &FoundContact, message: &Message) -> PortResult<()> {
    let instance = &contact.instance;
    if let Some(external) = instance.resolve_external_id() {
        let own = DeliveryKey::from_own_id(instance.provider, &external, &message.message_id());
        let told = message
            .provider_message_id
            .as_ref()
            .map(|id| DeliveryKey::from_provider_id(instance.provider, &external, id));
        let keys: Vec<DeliveryKey> = std::iter::once(own).chain(told).collect();
        deps.store().delete_deliveries(&keys).await?;
    }
    if let Some(key) = &message.idempotency_key {
        for scope in [instance.id.to_string(), message.conversation.to_string()] {
            deps.store().delete_idempotency_key(&scope, key).await?;
        }
    }
    if let Some(event) = &message.event {
        deps.queues().delete_payload(event.as_str()).await?;
    }
    match upload_key(&message.instance, &message.content) {
        Some(key) => deps.queues().delete_payload(&key).await,
        None => Ok(()),
    }
}
