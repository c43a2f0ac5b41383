//! Erases what is not in a conversation: pending events, dead letters with their copies, and scheduled messages.

use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::event::{EventPayload, InboundJob, webhook_file_key};
use recado_domain::ids::{EventId, MessageId, TenantId, TokenName};
use recado_domain::millis::add_duration;
use recado_domain::scheduled::ScheduledMessage;
use recado_invitation_emails::email_outbox::purge_dead_email;
use recado_pipeline::Deps;
use recado_pipeline::steps::idempotency::delete_claim;
use recado_pipeline::steps::outgoing::find_outgoing;
use recado_pipeline::steps::upload::upload_key;
use recado_ports::ports::{DeadQueueMessage, EventChange, PageRequest, PortError, PortResult};
use recado_ports::records::dead_letters::{DeadLetterFilter, list_dead_letters, remove_dead_letter};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};
use std::collections::BTreeSet;

/// Maximum number of messages that are received from one dead-letter queue, in batches of ten.
const BATCHES_MAX: usize = 200;

const PAGE: usize = 100;

/// Settles an event that is not applied yet. A worker that comes later finds it settled and stores nothing.
pub async fn settle_without_body(deps: &Deps, job: &InboundJob) -> PortResult<()> {
    let now = deps.system().now();
    let expires = add_duration(now, deps.settings().event_ttl);
    // The body goes first: once the event is settled, nothing leads to the body any more.
    erase_event_body(deps, job).await?;
    deps.store()
        .change_event(&job.event, EventChange::Apply { at: now, expires })
        .await?;
    Ok(())
}

/// Deletes what lies beside the record of an event: a large body, and the file that its webhook held.
pub async fn erase_event_body(deps: &Deps, job: &InboundJob) -> PortResult<()> {
    if job.has_file {
        deps.queues()
            .delete_payload(&webhook_file_key(&job.event))
            .await?;
    }
    match &job.payload {
        EventPayload::Stored(key) => deps.queues().delete_payload(key).await,
        EventPayload::Inline(_) => Ok(()),
    }
}

/// Erases the dead letters of `tenant`, and of nobody, that are `theirs`, with what they name. Returns the number of them.
pub async fn erase_dead_letters(
    deps: &Deps,
    tenant: &TenantId,
    is_theirs: impl Fn(&DeadLetter) -> bool + Send + Sync,
) -> PortResult<usize> {
    let of_tenant = DeadLetterFilter::of_tenant(tenant);
    let of_nobody = DeadLetterFilter {
        of_nobody: true,
        ..DeadLetterFilter::default()
    };
    let mut erased = erase_listed(deps, &of_tenant, &is_theirs).await?;
    // An event of an instance that was not known yet, or a text that nobody could read.
    erased += erase_listed(deps, &of_nobody, &is_theirs).await?;
    Ok(erased)
}

async fn erase_listed(
    deps: &Deps,
    filter: &DeadLetterFilter,
    is_theirs: impl Fn(&DeadLetter) -> bool + Send + Sync,
) -> PortResult<usize> {
    let (mut erased, mut next) = (0, Some(PageRequest::first(PAGE)));
    while let Some(page) = next {
        let found = list_dead_letters(deps.store(), filter, &page).await?;
        for dead_letter in found.items.iter().filter(|dead_letter| is_theirs(dead_letter)) {
            erase_dead_letter(deps, dead_letter).await?;
            erased += 1;
        }
        next = page.follow(found.next_cursor);
    }
    Ok(erased)
}

/// Erases what a dead letter names, then the dead letter itself.
async fn erase_dead_letter(deps: &Deps, dead_letter: &DeadLetter) -> PortResult<()> {
    if let DeadLetterContent::Event(job) = &dead_letter.what {
        purge_event(deps, &job.event, dead_letter.at).await?;
        erase_event_body(deps, job).await?;
    }
    remove_dead_letter(deps.store(), &dead_letter.id, dead_letter.at).await?;
    Ok(())
}

/// Removes the messages of a dead-letter queue that are `theirs`. Returns the number of them.
pub async fn erase_dead_queue(
    deps: &Deps,
    queue: QueueName,
    is_theirs: impl Fn(&DeadQueueMessage) -> bool + Send + Sync,
) -> PortResult<usize> {
    let (mut seen, mut removed) = (BTreeSet::new(), 0);
    for _ in 0..BATCHES_MAX {
        let batch = deps.queues().receive_dead_messages(queue).await?;
        let mut is_new = false;
        for message in batch {
            is_new |= seen.insert(message.receipt.clone());
            if is_theirs(&message) {
                deps.queues().remove_dead_message(&message).await?;
                removed += 1;
            }
        }
        if !is_new {
            break;
        }
    }
    Ok(removed)
}

/// Cancels a message that is to be sent later, which removes its content. `false`: it was not pending any more.
pub async fn erase_scheduled_message(
    deps: &Deps,
    mut found: Versioned<ScheduledMessage>,
) -> PortResult<bool> {
    let scheduled = &mut found.record;
    if let Some(key) = upload_key(&scheduled.instance, &scheduled.content) {
        deps.queues().delete_payload(&key).await?;
    }
    if let Some(key) = &scheduled.idempotency_key {
        let scope = (&scheduled.tenant, scheduled.instance.as_str());
        delete_claim(deps, scope, key).await?;
    }
    if scheduled.cancel_pending(deps.system().now(), None).is_err() {
        return Ok(false);
    }
    // Lost to the message's own time: then it is a message of the conversation, which is erased next.
    let _ = write_record(deps.store(), &mut found).await?;
    Ok(true)
}

/// Purges the event or message of a dead letter. It is done before the dead letter is removed, so that no remaining copy
/// revives it and no new dead letter is made of it. `by`: the token with which that is ordered, if a person does.
pub async fn purge_named_record(
    deps: &Deps,
    dead_letter: &DeadLetter,
    by: Option<&TokenName>,
) -> PortResult<()> {
    match &dead_letter.what {
        DeadLetterContent::Event(job) => purge_event(deps, &job.event, dead_letter.at).await,
        DeadLetterContent::Unreadable { .. } => match dead_letter.unread_event() {
            Some(event) => purge_event(deps, &event, dead_letter.at).await,
            None => Ok(()),
        },
        DeadLetterContent::Message { message } => purge_message(deps, by, message, dead_letter).await,
        DeadLetterContent::Email { tenant, invitation } => {
            purge_dead_email(deps, (tenant, invitation), dead_letter.at).await
        }
        DeadLetterContent::Turns(_) | DeadLetterContent::Damaged { .. } => Ok(()),
    }
}

/// Purges an event that failed at `failed_at`.
async fn purge_event(deps: &Deps, event: &EventId, failed_at: Timestamp) -> PortResult<()> {
    let now = deps.system().now();
    let expires = add_duration(now, deps.settings().event_ttl);
    deps.store()
        .change_event(
            event,
            EventChange::Purge {
                failed_at,
                at: now,
                expires,
            },
        )
        .await
        .map(drop)
}

/// Marks a dead message as purged. A message that is no longer dead, or failed again later, is left unchanged: only its
/// old dead letter is removed.
async fn purge_message(
    deps: &Deps,
    by: Option<&TokenName>,
    id: &MessageId,
    dead_letter: &DeadLetter,
) -> PortResult<()> {
    retry_lost_write(PortError::contended("message"), (), |()| async {
        let Some(mut message) = find_outgoing(deps, id).await? else {
            return Ok(WriteAttempt::Done(()));
        };
        let copied = message.out.copied;
        if message
            .out
            .purge_dead(deps.system().now(), dead_letter.at)
            .is_err()
        {
            return Ok(WriteAttempt::Done(()));
        }
        message.out.sign_last_step(by);
        // A dead message stays on the open list until its dead letter exists.
        let written = if copied {
            deps.store()
                .update_closed_message(&message.to_record(), None)
                .await?
        } else {
            deps.store()
                .settle_message(&message.to_record(), None, None, None)
                .await?
        };
        Ok(WriteAttempt::after_write(written, ()))
    })
    .await
}
