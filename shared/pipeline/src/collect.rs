//! What lies in the queues' dead-letter queues. A message that a queue put there by itself is entered into the record
//! that it is about, gets a dead letter with its marked copy, and only then goes: a crash in between does it again. A copy
//! whose dead letter is gone, since it was redriven or deleted, goes too.

use crate::World;
use crate::dead::{
    bury, copy, give_up_event, give_up_message, keep_unreadable, letter_of, turn_id, unreadable_id,
};
use crate::ports::{
    Ambient, Conversations, DeadCopy, DeadLetters, DeadQueues, Directory, Inbox, PortError, PortResult,
    Queues,
};
use crate::process::send_timer_if_stored;
use recado_domain::dead_letter::{DeadLetter, DeadWhat, QueueName, RedrivenLetter};
use recado_domain::event::{EventState, InboundJob};
use recado_domain::kick::{SendKick, TurnKick};
use recado_domain::millis::shift;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// How many batches of one queue are looked at in one go. What a queue gave up by itself may stand behind many copies.
const BATCHES_MAX: usize = 200;

/// For how long they are looked at: what was received is handed out again after some seconds.
const LOOKS_MS: i64 = 4_000;

/// A copy is made before its dead letter; a younger one may still get its own.
const YOUNG_MS: i64 = 120_000;

/// What is told of a message whose queue gave it up.
const WHY: &str = "its queue handed it out too often";

/// Looks through the dead-letter queue of `queue`. Returns how many messages went.
pub(crate) async fn collect<W: World>(world: &W, queue: QueueName) -> PortResult<usize> {
    let mut gone = 0;
    let until = shift(world.ambient().now(), LOOKS_MS);
    for _ in 0..BATCHES_MAX {
        // What is received is looked at: it is hidden from the next look for a while.
        if world.ambient().now() > until {
            break;
        }
        let batch = world.queues().receive_dead(queue).await?;
        if batch.is_empty() {
            break;
        }
        for copy in batch {
            let goes = match &copy.copy_of {
                Some(letter) => is_of_no_use(world, &copy, letter).await?,
                None => enter(world, &copy).await.map(|()| true)?,
            };
            if goes {
                world.queues().remove_dead(&copy).await?;
                gone += 1;
            }
        }
    }
    Ok(gone)
}

/// Removes the copies of dead letters that are gone. What is not found now is found by [`collect`].
pub(crate) async fn remove_copies<W: World>(
    world: &W,
    queue: QueueName,
    gone: &BTreeSet<RedrivenLetter>,
) -> PortResult<()> {
    let mut left = gone.clone();
    for _ in 0..BATCHES_MAX {
        let batch = world.queues().receive_dead(queue).await?;
        if batch.is_empty() {
            break;
        }
        for copy in batch {
            if copy.copy_of.as_ref().is_some_and(|letter| gone.contains(letter)) {
                world.queues().remove_dead(&copy).await?;
                if let Some(letter) = &copy.copy_of {
                    left.remove(letter);
                }
            }
        }
        if left.is_empty() {
            break;
        }
    }
    Ok(())
}

async fn is_of_no_use<W: World>(world: &W, copy: &DeadCopy, letter: &RedrivenLetter) -> PortResult<bool> {
    if shift(copy.sent_at, YOUNG_MS) > world.ambient().now() {
        return Ok(false);
    }
    let kept = world.store().dead_letter(&letter.letter).await?;
    Ok(kept.is_none_or(|kept| kept.at != letter.died))
}

/// Enters what a queue gave up into the record that it is about.
async fn enter<W: World>(world: &W, dead: &DeadCopy) -> PortResult<()> {
    tracing::error!(queue = dead.queue.as_str(), "a queue gave a message up by itself");
    match dead.queue {
        QueueName::Inbound => match read::<InboundJob, W>(world, dead).await? {
            Some(job) => event(world, &job).await,
            None => Ok(()),
        },
        QueueName::Outbound => match read::<SendKick, W>(world, dead).await? {
            Some(kick) => message(world, &kick).await,
            None => Ok(()),
        },
        QueueName::Turns => match read::<TurnKick, W>(world, dead).await? {
            Some(kick) => turn(world, kick).await,
            None => Ok(()),
        },
    }
}

/// Reads the body; one that cannot be read is kept as it came.
async fn read<T: DeserializeOwned, W: World>(world: &W, dead: &DeadCopy) -> PortResult<Option<T>> {
    match serde_json::from_str(&dead.body) {
        Ok(read) => Ok(Some(read)),
        Err(error) => {
            let id = unreadable_id(dead.queue, &dead.body);
            if world.store().dead_letter(&id).await?.is_none() {
                keep_unreadable(world, dead.queue, &dead.body, &error).await?;
            }
            Ok(None)
        }
    }
}

async fn event<W: World>(world: &W, job: &InboundJob) -> PortResult<()> {
    let Some(record) = world.store().event(&job.event).await? else {
        return Ok(());
    };
    match record.state {
        EventState::Applied => Ok(()),
        EventState::Pending => {
            let bound = world.store().bound(job.provider, &job.external).await?;
            if let Some(bound) = &bound {
                // The answer to a message that was stored is owed all the same.
                send_timer_if_stored(world, job, bound).await?;
            }
            let (instance, why) = (bound.map(|bound| bound.instance.id), Some(WHY.to_owned()));
            give_up_event(world, job, instance, Reason::Poison, record.attempts, why).await
        }
        EventState::Dead => match world.store().dead_letter(job.event.as_str()).await? {
            // It was the letter's copy, redriven.
            Some(letter) if job.redrive == Some(letter.at) => world.queues().send_dead(&letter).await,
            Some(_) => Ok(()),
            None => {
                let reason = record.reason.unwrap_or(Reason::Poison);
                give_up_event(world, job, None, reason, record.attempts, None).await
            }
        },
    }
}

/// The message that a kick names dies if it waits to be sent. One in an attempt is judged by its outcome; `reconcile`
/// kicks it.
async fn message<W: World>(world: &W, kick: &SendKick) -> PortResult<()> {
    let id = kick.redrive.as_ref().map_or_else(
        || kick.conversation.message(kick.upto),
        |redrive| redrive.message.clone(),
    );
    let Some(message) = world.store().message(&id).await? else {
        return Ok(());
    };
    let Some(out) = &message.out else { return Ok(()) };
    let done = match out.state {
        OutboxState::Queued => give_up_message(world, message, Reason::Poison, Some(WHY.to_owned())).await?,
        OutboxState::Dead { .. } if !out.copied => bury(world, message).await?,
        OutboxState::Dead { at, reason } if reason != Reason::Purged => {
            let redriven = kick.redrive.as_ref().is_some_and(|redrive| redrive.died == at);
            if let Some(letter) = letter_of(&message)
                && (redriven || world.store().dead_letter(&letter.id).await?.is_none())
            {
                copy(world, &letter).await?;
            }
            true
        }
        _ => true,
    };
    if done {
        return Ok(());
    }
    Err(PortError::unavailable("message", "others kept writing it"))
}

/// No record dies of a lost turn: the answer stays owed, and `reconcile` asks for it.
async fn turn<W: World>(world: &W, kick: TurnKick) -> PortResult<()> {
    let json = serde_json::to_string(&kick).map_err(|error| PortError::invalid("turn", error))?;
    let id = turn_id(&json);
    if world.store().dead_letter(&id).await?.is_some() {
        return Ok(());
    }
    let conversation = world.store().conversation(&kick.conversation).await?;
    let letter = DeadLetter {
        id,
        queue: QueueName::Turns,
        reason: Reason::Poison,
        at: world.ambient().now(),
        attempts: 0,
        last_error: Some(WHY.to_owned()),
        correlation: kick.correlation.clone(),
        instance: conversation.map(|conversation| conversation.instance),
        what: DeadWhat::Turn(Box::new(kick)),
    };
    copy(world, &letter).await
}
