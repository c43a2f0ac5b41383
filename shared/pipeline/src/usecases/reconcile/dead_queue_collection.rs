//! Collects the messages in the queues' dead-letter queues. If a queue moved a message there by itself, the failure is
//! entered into the message's record, a dead letter and its marked copy are made, and only then the message is removed:
//! after a crash in between, the same is done again. A copy whose dead letter is gone, because it was redriven or
//! deleted, is removed too.

use crate::Deps;
use crate::steps::give_up::{
    build_message_letter, dead_letter_unreadable, give_up_event, move_to_dead_letters, save_dead_letter,
    turns_letter_id,
};
use crate::steps::outgoing::find_outgoing;
use crate::steps::unsent_message::give_up_unsent_message;
use crate::steps::wake_up;
use jiff::{SignedDuration, Timestamp};
use recado_domain::dead_letter::{
    DeadLetter, DeadLetterContent, QueueName, QueuedJob, RedrivenLetter, unreadable_letter_id,
};
use recado_domain::event::{EventState, InboundJob};
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_domain::wake_up::{OutboundJob, SendJob, TurnsJob};
use recado_ports::ports::{DeadQueueLook, DeadQueueMessage, PortError, PortResult};
use recado_ports::records::configuration::find_config_by_external;
use recado_ports::records::dead_letters::{find_dead_letter, find_failure_time};

/// Maximum number of batches of one queue that are read in one pass. A message that a queue gave up by itself may be
/// behind many copies.
const BATCHES_MAX: usize = 200;

/// Maximum time of one pass: a received message is handed out again after some seconds.
const COLLECT_TIME: SignedDuration = SignedDuration::from_secs(4);

/// Time between two looks through a whole queue, in minutes. A copy that stays costs a read at each look.
const FULL_LOOK_MINUTES: i64 = 10;

/// Age below which a copy without a dead letter is kept: the copy is made before its dead letter.
const COPY_GRACE: SignedDuration = SignedDuration::from_mins(2);

/// Error text of a message that its queue gave up.
const GIVEN_UP_BY_QUEUE: &str = "its queue handed it out too often";

fn is_full_look(now: Timestamp) -> bool {
    now.as_second().div_euclid(60) % FULL_LOOK_MINUTES == 0
}

/// Processes the dead-letter queue of `queue`, as far as the queue wants it: usually all of it each ten minutes, and as long as there is
/// something to remove. Returns how many messages were removed.
pub(super) async fn collect_dead_queue(deps: &Deps, queue: QueueName) -> PortResult<usize> {
    let now = deps.system().now();
    let is_whole = match deps.queues().plan_dead_look(queue).await? {
        DeadQueueLook::Skip => return Ok(0),
        DeadQueueLook::Beginning => is_full_look(now),
        DeadQueueLook::Whole => true,
    };
    let (mut seen, mut gone) = (0, 0);
    let until = add_duration(now, COLLECT_TIME);
    for _ in 0..BATCHES_MAX {
        // The time is checked between batches only: every received message must be processed, because it is hidden from
        // the next read for a while.
        if deps.system().now() > until {
            break;
        }
        let batch = deps.queues().receive_dead_messages(queue).await?;
        if batch.is_empty() {
            break;
        }
        let before = gone;
        seen += batch.len();
        for copy in batch {
            let goes = match &copy.copy_of {
                Some(dead_letter) => is_obsolete_copy(deps, &copy, dead_letter).await?,
                None => record_queue_failure(deps, &copy).await.map(|()| true)?,
            };
            if goes {
                deps.queues().remove_dead_message(&copy).await?;
                gone += 1;
            }
        }
        if gone == before && !is_whole {
            break;
        }
    }
    deps.queues().note_dead_look(queue, seen, gone);
    Ok(gone)
}

async fn is_obsolete_copy(
    deps: &Deps,
    copy: &DeadQueueMessage,
    dead_letter: &RedrivenLetter,
) -> PortResult<bool> {
    if add_duration(copy.sent_at, COPY_GRACE) > deps.system().now() {
        return Ok(false);
    }
    let kept = find_failure_time(deps.store(), &dead_letter.dead_letter).await?;
    Ok(kept != Some(dead_letter.failed_at))
}

/// Enters the failure of a message that its queue gave up into the message's record. A body that cannot be read is kept unchanged in a
/// dead letter.
async fn record_queue_failure(deps: &Deps, dead: &DeadQueueMessage) -> PortResult<()> {
    tracing::error!(queue = dead.queue.as_str(), "a queue gave a message up by itself");
    match QueuedJob::parse(dead.queue, &dead.body) {
        Ok(QueuedJob::Inbound(job)) => give_up_queued_event(deps, &job).await,
        Ok(QueuedJob::Turns(message)) => dead_letter_turns_job(deps, message.job).await,
        Ok(QueuedJob::Outbound(OutboundJob::Send(job))) => give_up_queued_message(deps, &job).await,
        // A feature's record has its time, and `reconcile` enqueues another job then.
        Ok(QueuedJob::Outbound(_)) => Ok(()),
        Err(error) => {
            let id = unreadable_letter_id(dead.queue, &dead.body);
            if find_failure_time(deps.store(), &id).await?.is_none() {
                dead_letter_unreadable(deps, dead.queue, &dead.body, &error).await?;
            }
            Ok(())
        }
    }
}

async fn give_up_queued_event(deps: &Deps, job: &InboundJob) -> PortResult<()> {
    let Some(record) = deps.store().find_event(&job.event).await? else {
        return Ok(());
    };
    match record.state {
        EventState::Applied => Ok(()),
        EventState::Pending => {
            let bound = find_config_by_external(deps.store(), job.provider, &job.external).await?;
            if let Some(bound) = &bound {
                // The answer to a message that was stored is still owed.
                wake_up::enqueue_turn_if_stored(deps, job, bound).await?;
            }
            let why = Some(GIVEN_UP_BY_QUEUE.to_owned());
            give_up_event(deps, job, Reason::Poison, record.attempts, why).await
        }
        EventState::Dead => match find_dead_letter(deps.store(), job.event.as_str()).await? {
            // The message was the redriven copy of this dead letter: make the copy again.
            Some(dead_letter) if job.redrive == Some(dead_letter.at) => {
                deps.queues().enqueue_dead_copy(&dead_letter).await
            }
            _ => Ok(()),
        },
    }
}

/// Gives up the message that a send job names if it waits to be sent. For a message in an attempt, the attempt's outcome
/// decides; `reconcile` sends the next send job.
async fn give_up_queued_message(deps: &Deps, job: &SendJob) -> PortResult<()> {
    let id = job.redrive.as_ref().map_or_else(
        || job.conversation.message_id(job.upto),
        |redrive| redrive.message.clone(),
    );
    let Some(message) = find_outgoing(deps, &id).await? else {
        return Ok(());
    };
    let done = match message.out.state {
        OutboxState::Queued => {
            give_up_unsent_message(deps, message, Reason::Poison, Some(GIVEN_UP_BY_QUEUE.to_owned())).await?
        }
        OutboxState::Dead { .. } if !message.out.copied => move_to_dead_letters(deps, message).await?,
        OutboxState::Dead { at, reason } if reason != Reason::Purged => {
            let redriven = job
                .redrive
                .as_ref()
                .is_some_and(|redrive| redrive.failed_at == at);
            if let Some(dead_letter) = build_message_letter(&message)
                && (redriven || find_failure_time(deps.store(), &dead_letter.id).await?.is_none())
            {
                save_dead_letter(deps, &dead_letter).await?;
            }
            true
        }
        _ => true,
    };
    if done {
        return Ok(());
    }
    Err(PortError::contended("message"))
}

/// Makes a dead letter of a job of the queue `turns`. No record becomes dead: what the job asks for stays to be done, and `reconcile`
/// sends another job.
async fn dead_letter_turns_job(deps: &Deps, job: TurnsJob) -> PortResult<()> {
    let json = serde_json::to_string(&job).map_err(|error| PortError::invalid("job", error))?;
    let id = turns_letter_id(&json);
    if find_failure_time(deps.store(), &id).await?.is_some() {
        return Ok(());
    }
    let conversation = match job.conversation() {
        Some(conversation) => deps.store().find_conversation(conversation).await?,
        None => None,
    };
    let dead_letter = DeadLetter {
        id,
        queue: QueueName::Turns,
        reason: Reason::Poison,
        at: deps.system().now(),
        attempts: 0,
        last_error: Some(GIVEN_UP_BY_QUEUE.to_owned()),
        correlation: job.correlation().clone(),
        tenant: Some(job.tenant().clone()),
        instance: conversation.map(|conversation| conversation.instance),
        what: DeadLetterContent::Turns(Box::new(job)),
    };
    save_dead_letter(deps, &dead_letter).await
}
