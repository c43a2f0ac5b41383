//! Erases a contact. Each step can be repeated: an erasure that was cut off is asked for again and goes on. What leads
//! from one identity of the person to another is erased last, so that a repetition finds the same person.

use super::lookup::{ContactQuery, FoundContact, find_on_instances};
use super::thread_erasure::{ThreadErasure, erase_thread};
use super::{ContactError, audit_contacts};
use crate::Deps;
use crate::ports::{
    DeadQueueMessage, ErasableRecords, InvitationRecords, OptOuts, PortResult, Queues, RetainedRecords,
};
use crate::steps::conversation_erasure::ErasedPart;
use crate::steps::dead_letter_erasure::{
    erase_dead_letters, erase_dead_queue, erase_scheduled_message, settle_without_body,
};
use crate::steps::guests::find_guests;
use crate::steps::identity::{derive_thread_id, load_identity_key};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::contact::ContactAddress;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::event::InboundJob;
use recado_domain::ids::ThreadId;
use recado_domain::opt_out::RecipientAddress;
use recado_domain::wake_up::{SendJob, TurnJob};
use std::collections::BTreeSet;

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

/// Erases everything of a contact on the tenant's instances but tombstones. [`EraseReport::waits_until`] tells that the
/// request must be repeated.
pub async fn erase_contact(
    deps: &impl Deps,
    caller: &Caller,
    query: &ContactQuery,
) -> Result<EraseReport, ContactError> {
    let mut done = EraseReport::default();
    let found = find_on_instances(deps, query).await?;
    audit_contacts(deps, caller, AuditAction::ContactErased, &found).await?;
    let addresses: BTreeSet<ContactAddress> = found
        .iter()
        .flat_map(|contact| contact.addresses.clone())
        .collect();
    for contact in found {
        erase_on_instance(deps, &contact, &mut done).await?;
    }
    if done.waits_until.is_none() {
        for guest in find_guests(deps, &query.tenant, &addresses).await? {
            deps.store().delete_guest(&guest).await?;
            done.guests += 1;
        }
    }
    deps.store().overwrite_deleted().await?;
    tracing::info!(
        tenant = %query.tenant, conversations = done.conversations, messages = done.messages, events = done.events,
        dead_letters = done.dead_letters, scheduled = done.scheduled, waits = done.waits_until.is_some(),
        "a contact was erased"
    );
    Ok(done)
}

async fn erase_on_instance(
    deps: &impl Deps,
    contact: &FoundContact,
    done: &mut EraseReport,
) -> PortResult<()> {
    let groups = list_groups(deps, contact).await?;
    erase_pending_events(deps, &groups, done).await?;
    let is_theirs = |dead_letter: &DeadLetter| is_letter_of_contact(dead_letter, contact, &groups);
    done.dead_letters += erase_dead_letters(deps, &contact.instance.tenant, is_theirs).await?;
    for queue in QueueName::ALL {
        let is_theirs = |message: &DeadQueueMessage| is_copy_of_contact(message, contact, &groups);
        done.dead_letters += erase_dead_queue(deps, queue, is_theirs).await?;
    }
    deps.queues().delete_inbound(&groups).await?;
    erase_scheduled(deps, contact, done).await?;
    for thread in contact.threads.iter().rev() {
        match erase_thread(deps, contact, thread, done).await? {
            ThreadErasure::Done => {}
            ThreadErasure::WaitsUntil(until) => {
                done.waits_until = done.waits_until.max(Some(until));
                return Ok(());
            }
        }
    }
    forget_addresses_of_opt_outs(deps, contact).await?;
    let instance = &contact.instance.id;
    let entry = derive_thread_id(deps, instance, contact.entry.as_str()).await?;
    deps.store().delete_alias(&entry).await
}

/// Deletes the person's addresses in its preferences about messages. The preferences stay under their keys, which tell nothing of the person:
/// somebody who is erased must not be written to again.
async fn forget_addresses_of_opt_outs(deps: &impl Deps, contact: &FoundContact) -> PortResult<()> {
    let key = load_identity_key(deps).await?;
    let tenant = &contact.instance.tenant;
    for address in &contact.addresses {
        let recipient = key.derive_recipient_key(tenant, RecipientAddress::WhatsApp(address.as_str()));
        deps.store().forget_opt_out_address(tenant, &recipient).await?;
    }
    Ok(())
}

/// Returns the FIFO groups of the person's events.
async fn list_groups(deps: &impl Deps, contact: &FoundContact) -> PortResult<BTreeSet<String>> {
    let key = load_identity_key(deps).await?;
    let (provider, external) = (contact.instance.provider, contact.instance.resolve_external_id());
    let group = |address: &str| {
        let external = external.as_ref()?;
        Some(key.derive_event_group(provider, external, Some(address)))
    };
    let mut groups = BTreeSet::new();
    for address in &contact.addresses {
        let user = address
            .as_str()
            .split_once('@')
            .map_or(address.as_str(), |(user, _)| user);
        for spelling in [
            address.as_str().to_owned(),
            user.to_owned(),
            format!("{user}@s.whatsapp.net"),
        ] {
            groups.extend(group(&spelling));
        }
    }
    Ok(groups)
}

/// Settles the person's events that are not applied yet.
async fn erase_pending_events(
    deps: &impl Deps,
    groups: &BTreeSet<String>,
    done: &mut EraseReport,
) -> PortResult<()> {
    for record in deps.store().list_pending_events(groups).await? {
        settle_without_body(deps, &record.job).await?;
        done.events += 1;
    }
    Ok(())
}

fn is_letter_of_contact(dead_letter: &DeadLetter, contact: &FoundContact, groups: &BTreeSet<String>) -> bool {
    match &dead_letter.what {
        DeadLetterContent::Event(job) => groups.contains(&job.group),
        DeadLetterContent::Message { message } => message
            .conversation_and_ordinal()
            .is_ok_and(|(conversation, _)| contact.has_conversation(&conversation)),
        DeadLetterContent::Turn(job) => contact.has_conversation(&job.conversation),
        DeadLetterContent::Unreadable { body: text } | DeadLetterContent::Damaged { record: text } => {
            names_contact(text, contact)
        }
    }
}

/// Fewest characters of an address that is searched for in a text.
const SEARCHED_MIN: usize = 8;

/// Returns `true` if an unreadable text contains one of the person's numbers or identities.
fn names_contact(text: &str, contact: &FoundContact) -> bool {
    contact.addresses.iter().any(|address| {
        let user = address.as_str().split('@').next().unwrap_or_default();
        user.len() >= SEARCHED_MIN && text.contains(user)
    })
}

/// Returns `true` if a message of a dead-letter queue is about the person. An event is known by its group, other jobs by
/// their thread: both belong to one instance. Only an unreadable text is searched for the person's addresses.
fn is_copy_of_contact(message: &DeadQueueMessage, contact: &FoundContact, groups: &BTreeSet<String>) -> bool {
    if let Ok(job) = serde_json::from_str::<InboundJob>(&message.body) {
        return groups.contains(&job.group);
    }
    let names_thread = |thread: &ThreadId| message.body.contains(thread.as_str());
    if contact.threads.iter().any(names_thread) {
        return true;
    }
    let is_job = serde_json::from_str::<SendJob>(&message.body).is_ok()
        || serde_json::from_str::<TurnJob>(&message.body).is_ok();
    !is_job && names_contact(&message.body, contact)
}

/// Cancels the messages to the person that are to be sent later, which removes their content.
async fn erase_scheduled(deps: &impl Deps, contact: &FoundContact, done: &mut EraseReport) -> PortResult<()> {
    for scheduled in deps.store().list_pending_scheduled(&contact.instance.id).await? {
        if contact.has_address(&scheduled.to) && erase_scheduled_message(deps, scheduled).await? {
            done.scheduled += 1;
        }
    }
    Ok(())
}
