//! Erases the conversations of one thread.

use super::erase::EraseReport;
use super::lookup::{FoundContact, list_thread};
use crate::steps::conversation_erasure::{ConversationErasure, erase_conversation};
use crate::steps::identity::load_identity_key;
use crate::steps::journal_erasure::erase_journal;
use crate::steps::save_conversation::save_conversation;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, TenantId, ThreadId};
use recado_domain::outbox::OutboxState;
use recado_ports::Deps;
use recado_ports::ports::{NoteChange, PortError, PortResult};
use recado_ports::records::effects::find_journal;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// The state of a thread's erasure.
pub(super) enum ThreadErasure {
    /// Nothing is left but the tombstone.
    Done,
    /// A message is being sent, or an effect is under way, until this time at the latest. Its outcome is awaited: so the echo of
    /// the message is not taken for a new one, and what the effect changed does not appear when nothing tells of it any more.
    WaitsUntil(Timestamp),
}

/// Erases the conversations that a thread has now. A conversation that begins meanwhile is left alone.
pub(super) async fn erase_thread(
    deps: &Deps,
    contact: &FoundContact,
    thread: &ThreadId,
    done: &mut EraseReport,
) -> PortResult<ThreadErasure> {
    let tenant = &contact.instance.tenant;
    let Some(latest) = close_thread(deps, thread).await? else {
        erase_journal(deps, tenant, thread).await?;
        return Ok(ThreadErasure::Done);
    };
    let running = find_running_send(deps, &latest.id).await?;
    if let Some(until) = running.max(find_running_effect(deps, tenant, thread).await?) {
        return Ok(ThreadErasure::WaitsUntil(until));
    }
    // No effect begins any more: the conversation is resolved.
    erase_journal(deps, tenant, thread).await?;
    // Before the messages: a tombstone does not lead to the person's other threads any more.
    erase_notes_of_sends(deps, contact, thread).await?;
    let how = ConversationErasure {
        instance: Some(&contact.instance),
        kept_identity: Some(&contact.entry),
        leaves_tombstone: true,
        messages_max: usize::MAX,
    };
    for conversation in list_thread(deps, latest.clone()).await? {
        if conversation.id != latest.id {
            done.count_conversation(&erase_conversation(deps, &how, conversation).await?);
        }
    }
    if latest.is_erased() {
        return Ok(ThreadErasure::Done);
    }
    done.count_conversation(&erase_conversation(deps, &how, latest).await?);
    Ok(ThreadErasure::Done)
}

/// Begins the erasure of the thread's newest conversation and returns it; `None` if the thread has no conversation.
async fn close_thread(deps: &Deps, thread: &ThreadId) -> PortResult<Option<Conversation>> {
    retry_lost_write(PortError::contended("conversation"), (), |()| async {
        let Some(mut latest) = deps.store().find_latest_conversation(thread).await? else {
            return Ok(WriteAttempt::Done(None));
        };
        if latest.erased_at.is_some() {
            return Ok(WriteAttempt::Done(Some(latest)));
        }
        latest.begin_erasure(deps.system().now());
        let written = save_conversation(deps, &mut latest).await?;
        Ok(WriteAttempt::after_write(written, Some(latest)))
    })
    .await
}

/// Returns the time until which an attempt to send a message of these conversations may run.
async fn find_running_send(deps: &Deps, newest: &ConversationId) -> PortResult<Option<Timestamp>> {
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

/// Returns the time until which an effect of the thread may be under way. One whose time is over is not awaited: to find out
/// how it ended may take as long as the outside cannot be asked.
async fn find_running_effect(
    deps: &Deps,
    tenant: &TenantId,
    thread: &ThreadId,
) -> PortResult<Option<Timestamp>> {
    let journal = find_journal(deps.store(), tenant, thread).await?;
    let running = journal.and_then(|journal| journal.record.running_entry().map(|entry| entry.until));
    Ok(running.filter(|until| *until > deps.system().now()))
}

/// Erases the person from the notes of the attempts to send a message of the thread. The notes stay, because a request
/// that hangs may still go out, and its echo must not count as typed on the phone.
async fn erase_notes_of_sends(deps: &Deps, contact: &FoundContact, thread: &ThreadId) -> PortResult<()> {
    let (instance, key) = (&contact.instance.id, load_identity_key(deps).await?);
    for flight in deps.store().list_in_flight(instance).await? {
        let conversation = flight.message.conversation_and_ordinal();
        let is_theirs = conversation.is_ok_and(|(conversation, _)| conversation.thread_id() == thread);
        if is_theirs && flight.erased.is_none() {
            let erased = flight.erase_recipient(&key, &contact.threads);
            let replaces = deps
                .store()
                .change_in_flight(instance, &erased, NoteChange::Replace);
            let _gone = replaces.await?;
        }
    }
    Ok(())
}
