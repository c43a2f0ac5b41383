//! Erases a contact. Each step can be repeated: an erasure that was cut off is asked for again and goes on. What leads
//! from one identity of the person to another is erased last, so that a repetition finds the same person.

use super::belongings::{
    derive_recipient_keys, is_letter_of_contact, list_groups, list_scheduled, names_contact,
};
use super::lookup::{ContactQuery, FoundContact, find_on_instances};
use super::thread_erasure::{ThreadErasure, erase_thread};
use super::{ContactError, audit_contacts};
use crate::steps::batch_recipients::forget_recipients;
use crate::steps::conversation_erasure::ErasedPart;
use crate::steps::dead_letter_erasure::{
    erase_dead_letters, erase_dead_queue, erase_scheduled_message, settle_without_body,
};
use crate::steps::guests::{delete_guest, find_guests};
use crate::steps::identity::derive_thread_id;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::contact::ContactAddress;
use recado_domain::dead_letter::{DeadLetter, QueueName, QueuedJob};
use recado_domain::ids::{TenantId, ThreadId};
use recado_ports::Deps;
use recado_ports::ports::{DeadQueueMessage, EventOwners, PortResult};
use recado_ports::records::aliases::delete_alias;
use recado_ports::records::opt_outs::forget_opt_out_address;
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
    forget_addresses_of_opt_outs(deps, &query.tenant, &addresses).await?;
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
    erase_pending_events(deps, &groups, done).await?;
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
                if let ThreadErasure::WaitsUntil(until) = erase_thread(deps, contact, thread, done).await? {
                    done.waits_until = done.waits_until.max(Some(until));
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

/// Deletes the person's addresses in its preferences about messages. The preferences stay under their keys, which tell nothing of the person:
/// somebody who is erased must not be written to again.
async fn forget_addresses_of_opt_outs(
    deps: &Deps,
    tenant: &TenantId,
    addresses: &BTreeSet<ContactAddress>,
) -> PortResult<()> {
    for recipient in derive_recipient_keys(deps, tenant, addresses).await? {
        forget_opt_out_address(deps.store(), tenant, &recipient).await?;
    }
    Ok(())
}

/// Settles the person's events that are not applied yet.
async fn erase_pending_events(
    deps: &Deps,
    groups: &BTreeSet<String>,
    done: &mut EraseReport,
) -> PortResult<()> {
    for record in deps
        .store()
        .list_pending_events(EventOwners::Groups(groups))
        .await?
    {
        settle_without_body(deps, &record.job).await?;
        done.events += 1;
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
    pub(super) fn count_conversation(&mut self, part: &ErasedPart) {
        self.messages += part.messages;
        self.conversations += usize::from(part.is_whole);
    }
}
