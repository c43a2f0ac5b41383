//! Erases a contact. Each step can be repeated: an erasure that was cut off is asked for again and goes on. What leads
//! from one identity of the person to another is erased last, so that a repetition finds the same person.

use super::lookup::{ContactQuery, FoundContact, find_on_instances};
use super::thread_erasure::{ThreadErasure, erase_thread};
use super::{ContactError, audit_contacts, export::upload_key};
use crate::Deps;
use crate::ports::{
    DeadLetterFilter, DeadLetterQueues, DeadLetters, DeadQueueMessage, ErasableRecords, Inbox, PageRequest,
    PortResult, Queues, RetainedRecords, ScheduledMessages, System,
};
use crate::steps::identity::{derive_thread_id, load_identity_key};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::ids::ThreadId;
use recado_domain::millis::add_duration;
use recado_domain::wake_up::{SendJob, TurnJob};
use std::collections::BTreeSet;

/// Maximum number of messages that are received from one dead-letter queue, in batches of ten.
const BATCHES_MAX: usize = 200;

const PAGE: usize = 100;

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
    /// Time until which a message of the contact is being sent. The rest is erased when the request is repeated then.
    pub waits_until: Option<Timestamp>,
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
    for contact in found {
        erase_on_instance(deps, &contact, &mut done).await?;
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
    erase_dead_letters(deps, contact, &groups, done).await?;
    for queue in QueueName::ALL {
        erase_dead_queue(deps, queue, contact, &groups, done).await?;
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
    let instance = &contact.instance.id;
    let entry = derive_thread_id(deps, instance, contact.entry.as_str()).await?;
    deps.store().delete_alias(&entry).await
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

/// Settles the events that are not applied yet. A worker that comes later finds them settled and stores nothing.
async fn erase_pending_events(
    deps: &impl Deps,
    groups: &BTreeSet<String>,
    done: &mut EraseReport,
) -> PortResult<()> {
    for record in deps.store().list_pending_events(groups).await? {
        let now = deps.system().now();
        let expires = add_duration(now, deps.settings().event_ttl);
        // The body goes first: once the event is settled, nothing leads to the body any more.
        erase_event_body(deps, &record.job).await?;
        deps.store()
            .settle_event(&record.job.event, None, now, expires)
            .await?;
        done.events += 1;
    }
    Ok(())
}

async fn erase_event_body(deps: &impl Deps, job: &InboundJob) -> PortResult<()> {
    match &job.payload {
        EventPayload::Stored(key) => deps.queues().delete_payload(key).await,
        EventPayload::Inline(_) => Ok(()),
    }
}

async fn erase_dead_letters(
    deps: &impl Deps,
    contact: &FoundContact,
    groups: &BTreeSet<String>,
    done: &mut EraseReport,
) -> PortResult<()> {
    let mut page = PageRequest {
        limit: PAGE,
        cursor: None,
    };
    loop {
        let found = deps
            .store()
            .list_dead_letters(&DeadLetterFilter::default(), &page)
            .await?;
        for dead_letter in found.items {
            if is_letter_of_contact(&dead_letter, contact, groups) {
                erase_dead_letter(deps, &dead_letter).await?;
                done.dead_letters += 1;
            }
        }
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return Ok(()),
        }
    }
}

fn is_letter_of_contact(dead_letter: &DeadLetter, contact: &FoundContact, groups: &BTreeSet<String>) -> bool {
    match &dead_letter.what {
        DeadLetterContent::Event(job) => groups.contains(&job.group),
        DeadLetterContent::Message { message } => message
            .conversation_and_ordinal()
            .is_ok_and(|(conversation, _)| contact.has_conversation(&conversation)),
        DeadLetterContent::Turn(job) => contact.has_conversation(&job.conversation),
        DeadLetterContent::Unreadable { body } => names_contact(body, contact),
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

/// Erases what a dead letter names, then the dead letter itself.
async fn erase_dead_letter(deps: &impl Deps, dead_letter: &DeadLetter) -> PortResult<()> {
    if let DeadLetterContent::Event(job) = &dead_letter.what {
        let now = deps.system().now();
        let expires = add_duration(now, deps.settings().event_ttl);
        deps.store()
            .purge_event(&job.event, dead_letter.at, now, expires)
            .await?;
        erase_event_body(deps, job).await?;
    }
    deps.store()
        .remove_dead_letter(&dead_letter.id, dead_letter.at)
        .await?;
    Ok(())
}

async fn erase_dead_queue(
    deps: &impl Deps,
    queue: QueueName,
    contact: &FoundContact,
    groups: &BTreeSet<String>,
    done: &mut EraseReport,
) -> PortResult<()> {
    let mut seen = BTreeSet::new();
    for _ in 0..BATCHES_MAX {
        let batch = deps.queues().receive_dead_messages(queue).await?;
        let mut is_new = false;
        for message in batch {
            is_new |= seen.insert(message.receipt.clone());
            if is_copy_of_contact(&message, contact, groups) {
                deps.queues().remove_dead_message(&message).await?;
                done.dead_letters += 1;
            }
        }
        if !is_new {
            break;
        }
    }
    Ok(())
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
    let instance = &contact.instance.id;
    for mut scheduled in deps.store().list_pending_scheduled(instance).await? {
        if !contact.has_address(&scheduled.to) {
            continue;
        }
        if let Some(key) = upload_key(instance, &scheduled.content) {
            deps.queues().delete_payload(&key).await?;
        }
        if let Some(key) = &scheduled.idempotency_key {
            deps.store()
                .delete_idempotency_key(instance.as_str(), key)
                .await?;
        }
        if scheduled.cancel_pending(deps.system().now(), None).is_ok() {
            // Lost to the message's own time: then it is a message of the conversation, which is erased next.
            let _ = deps.store().save_scheduled(&scheduled).await?;
            done.scheduled += 1;
        }
    }
    Ok(())
}
