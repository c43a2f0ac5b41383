//! Erases a contact. Each step can be repeated: an erasure that was cut off is asked for again and goes on. What leads
//! from one identity of the person to another is erased last, so that a repetition finds the same person.

use crate::belongings::{
    derive_recipient_keys, is_letter_of_contact, list_groups, list_scheduled, names_contact,
};
use crate::conversation_erasure::{ConversationErasure, ErasedPart, erase_conversation, erase_journal};
use crate::dead_letter_erasure::{
    erase_dead_letters, erase_dead_queue, erase_scheduled_message, settle_without_body,
};
use crate::lookup::{ContactQuery, FoundContact, find_on_instances, list_thread};
use crate::{ContactError, audit_contacts};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::{DeadLetter, QueueName, QueuedJob};
use recado_domain::ids::{ConversationId, ThreadId};
use recado_domain::outbox::OutboxState;
use recado_occasions::forgotten_recipients::forget_recipients;
use recado_occasions::guests::{delete_guest, find_guests};
use recado_pipeline::Deps;
use recado_pipeline::steps::identity::{derive_thread_id, load_identity_key};
use recado_pipeline::steps::save_conversation::save_conversation;
use recado_ports::ports::{DeadQueueMessage, EventOwners, NoteChange, PortError, PortResult};
use recado_ports::records::aliases::delete_alias;
use recado_ports::records::effects::find_journal;
use recado_ports::records::opt_outs::forget_opt_out_address;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use std::collections::BTreeSet;

/// Erases everything of a contact on the tenant's instances but tombstones. [`EraseReport::waits_until`] tells that the
/// request must be repeated.
pub async fn erase_contact(
    deps: &Deps,
    caller: &Caller,
    query: &ContactQuery,
) -> Result<EraseReport, ContactError> {
    let mut done = EraseReport::default();
    let found = find_on_instances(deps, query).await?;
    audit_contacts(deps, caller, AuditAction::ContactErased, (query, &found)).await?;
    let addresses = query.collect_addresses(&found);
    for contact in &found {
        erase_beside_threads(deps, contact, &mut done).await?;
    }
    // Before the threads: these lead to the addresses by which opt-outs and guests are found.
    for recipient in derive_recipient_keys(deps, &query.tenant, &addresses).await? {
        forget_opt_out_address(deps.store(), &query.tenant, &recipient).await?;
    }
    let guests = find_guests(deps, &query.tenant, &addresses).await?;
    // Before the guests go, which lead here.
    forget_recipients(deps, &query.tenant, &guests).await?;
    for guest in guests {
        delete_guest(deps, &guest).await?;
        done.guests += 1;
    }
    erase_threads(deps, &found, &mut done).await?;
    deps.store().overwrite_deleted().await?;
    tracing::info!(
        tenant = %query.tenant, conversations = done.conversations, messages = done.messages, events = done.events,
        dead_letters = done.dead_letters, scheduled = done.scheduled, waits = done.waits_until.is_some(),
        "a contact was erased"
    );
    Ok(done)
}

/// Erases what is under way on an instance, and what was given up there.
async fn erase_beside_threads(deps: &Deps, contact: &FoundContact, done: &mut EraseReport) -> PortResult<()> {
    let groups = list_groups(deps, contact).await?;
    let pending = deps
        .store()
        .list_pending_events(EventOwners::Groups(&groups))
        .await?;
    for record in pending {
        settle_without_body(deps, &record.job).await?;
        done.events += 1;
    }
    let is_theirs = |dead_letter: &DeadLetter| is_letter_of_contact(dead_letter, contact, &groups);
    done.dead_letters += erase_dead_letters(deps, &contact.instance.tenant, is_theirs).await?;
    for queue in QueueName::ALL {
        let is_theirs = |message: &DeadQueueMessage| is_copy_of_contact(message, contact, &groups);
        done.dead_letters += erase_dead_queue(deps, queue, is_theirs).await?;
    }
    deps.queues().delete_inbound(&groups).await?;
    for scheduled in list_scheduled(deps, contact).await? {
        done.scheduled += usize::from(erase_scheduled_message(deps, scheduled).await?);
    }
    Ok(())
}

/// Erases the threads, those that were found last first, on all instances: one that leads to others goes after them. If a message
/// is being sent, what leads to it stays.
async fn erase_threads(deps: &Deps, found: &[FoundContact], done: &mut EraseReport) -> PortResult<()> {
    let rounds = found.iter().map(FoundContact::count_rounds).max().unwrap_or(0);
    for round in (0..rounds).rev() {
        for contact in found {
            for thread in contact.threads_of_round(round).iter().rev() {
                let waits_until = erase_thread(deps, contact, thread, done).await?;
                done.waits_until = done.waits_until.max(waits_until);
                if waits_until.is_some() {
                    break;
                }
            }
        }
        if done.waits_until.is_some() {
            return Ok(());
        }
    }
    for contact in found {
        let entry = derive_thread_id(deps, &contact.instance.id, contact.entry.as_str()).await?;
        delete_alias(deps.store(), &entry).await?;
    }
    Ok(())
}

/// Returns `true` if a message of a dead-letter queue is about the person. An event is known by its group, other jobs by
/// their thread: both belong to one instance. Only an unreadable text is searched for the person's threads and addresses.
fn is_copy_of_contact(message: &DeadQueueMessage, contact: &FoundContact, groups: &BTreeSet<String>) -> bool {
    match QueuedJob::parse(message.queue, &message.body) {
        Ok(QueuedJob::Inbound(job)) => groups.contains(&job.group),
        Ok(job) => job
            .conversation()
            .is_some_and(|conversation| contact.has_conversation(conversation)),
        Err(_) => {
            let names_thread = |thread: &ThreadId| message.body.contains(thread.as_str());
            contact.threads.iter().any(names_thread) || names_contact(&message.body, contact)
        }
    }
}

/// The result of an erasure, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EraseReport {
    /// Conversations that were erased. The newest one of each thread is a tombstone now.
    pub conversations: usize,
    /// Messages that were erased.
    pub messages: usize,
    /// Events that were not applied yet, or were given up.
    pub events: usize,
    /// Dead letters and their copies.
    pub dead_letters: usize,
    /// Messages that were to be sent later.
    pub scheduled: usize,
    /// Guests of occasions, with their invitations.
    pub guests: usize,
    /// Time until which a message of the contact is being sent. The rest is erased when the request is repeated then.
    pub waits_until: Option<Timestamp>,
}

impl EraseReport {
    fn count_conversation(&mut self, part: &ErasedPart) {
        self.messages += part.messages;
        self.conversations += usize::from(part.is_whole);
    }
}

/// Erases the conversations that a thread has now. A conversation that begins meanwhile is left alone.
///
/// Returns the time until which a message is being sent, or an effect is under way, at the latest. Its outcome is awaited: so the echo
/// of the message is not taken for a new one, and what the effect changed does not appear when nothing tells of it any more.
async fn erase_thread(
    deps: &Deps,
    contact: &FoundContact,
    thread: &ThreadId,
    done: &mut EraseReport,
) -> PortResult<Option<Timestamp>> {
    let tenant = &contact.instance.tenant;
    let Some(latest) = close_thread(deps, thread).await? else {
        erase_journal(deps, tenant, thread).await?;
        return Ok(None);
    };
    let running = find_running_send(deps, &latest.id).await?;
    let journal = find_journal(deps.store(), tenant, thread).await?;
    let effect = journal.and_then(|journal| journal.record.running_entry().map(|entry| entry.until));
    let effect = effect.filter(|until| *until > deps.system().now());
    if let Some(until) = running.max(effect) {
        return Ok(Some(until));
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
    if !latest.is_erased() {
        done.count_conversation(&erase_conversation(deps, &how, latest).await?);
    }
    Ok(None)
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
