//! Giving up: the record says `dead` first, then its copies are made, for eyes and for redrive. A crash in between leaves
//! a dead record without a copy, which the queue's redelivery finds and completes; the other way round it would leave a
//! dead letter of something that is still to be done.

use crate::World;
use crate::ports::{Ambient, Conversations, DeadLetters, Inbox, OutboxStore, PortResult, Queues, Written};
use recado_domain::dead_letter::{DeadLetter, DeadWhat, QueueName};
use recado_domain::event::InboundJob;
use recado_domain::ids::{InstanceId, MessageId, hash_of};
use recado_domain::instance::InFlight;
use recado_domain::message::Message;
use recado_domain::millis::shift;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::reason::Reason;

/// Gives up an event.
pub(crate) async fn give_up_event<W: World>(
    world: &W,
    job: &InboundJob,
    instance: Option<InstanceId>,
    reason: Reason,
    attempts: u32,
    last_error: Option<String>,
) -> PortResult<()> {
    // Clocks differ, and a later death is known by its time.
    let redriven = job.redrive.map(|died| shift(died, 1));
    let now = redriven.into_iter().fold(world.ambient().now(), Ord::max);
    world
        .store()
        .settle_event(&job.event, Some(reason), now, now)
        .await?;
    // Somebody else may have settled it before: the letter is of the death that the record tells of.
    let record = world.store().event(&job.event).await?;
    let Some((record, died)) = record.and_then(|record| record.died().map(|at| (record, at))) else {
        return Ok(());
    };
    let letter = DeadLetter {
        id: job.event.to_string(),
        queue: QueueName::Inbound,
        reason: record.reason.unwrap_or(reason),
        at: died,
        attempts,
        last_error,
        correlation: job.correlation.clone(),
        instance,
        what: DeadWhat::Event(Box::new(InboundJob {
            redrive: Some(died),
            ..job.clone()
        })),
    };
    copy(world, &letter).await?;
    // Who stalled before that may have made the letter when the event has been redriven already.
    let record = world.store().event(&job.event).await?;
    if record.and_then(|record| record.died()) != Some(died) {
        world.store().remove_dead_letter(&letter.id, died).await?;
    }
    Ok(())
}

/// Keeps a queue message that cannot be read: it will never be, so it must not come back.
pub(crate) async fn keep_unreadable<W: World>(
    world: &W,
    queue: QueueName,
    body: &str,
    error: &serde_json::Error,
) -> PortResult<()> {
    // Not its text: that repeats values.
    let error = format!("{:?} error in column {}", error.classify(), error.column());
    keep_poison(world, queue, body, error).await
}

/// How much of a queue message that cannot be read is kept: a record holds no more.
const UNREADABLE_BYTES_MAX: usize = 300_000;

/// Keeps a queue message of which nobody can make anything; `error`: why, without a word of it.
pub(crate) async fn keep_poison<W: World>(
    world: &W,
    queue: QueueName,
    body: &str,
    error: String,
) -> PortResult<()> {
    tracing::error!(queue = queue.as_str(), error, "queue message cannot be read");
    let letter = DeadLetter {
        id: unreadable_id(queue, body),
        queue,
        reason: Reason::Poison,
        at: world.ambient().now(),
        attempts: 1,
        last_error: Some(error),
        correlation: crate::chance::correlation(world.ambient()),
        instance: None,
        what: DeadWhat::Unreadable {
            body: body[..body.floor_char_boundary(UNREADABLE_BYTES_MAX)].to_owned(),
        },
    };
    copy(world, &letter).await
}

/// The id of the dead letter of a queue message that cannot be read.
pub(crate) fn unreadable_id(queue: QueueName, body: &str) -> String {
    hash_of(&["unreadable", queue.as_str(), body], 32)
}

/// The id of the dead letter of a turn's kick.
pub(crate) fn turn_id(kick: &str) -> String {
    hash_of(&["turn", kick], 32)
}

/// The dead letter of a message, if it is dead.
pub(crate) fn letter_of(message: &Message) -> Option<DeadLetter> {
    let (id, out) = (message.id(), message.out.as_ref()?);
    let OutboxState::Dead { at, reason } = out.state else {
        return None;
    };
    Some(DeadLetter {
        id: id.to_string(),
        queue: QueueName::Outbound,
        reason,
        at,
        attempts: out.attempts,
        last_error: out.history.last().and_then(|step| step.why.clone()),
        correlation: message.correlation.clone(),
        instance: Some(message.instance.clone()),
        what: DeadWhat::Message { message: id },
    })
}

/// Makes the copies of a message that is dead, and takes it off the open list. `false`: somebody else was faster.
pub(crate) async fn bury<W: World>(world: &W, mut message: Message) -> PortResult<bool> {
    let Some(letter) = letter_of(&message) else {
        return Ok(true);
    };
    copy(world, &letter).await?;
    if let Some(out) = message.out.as_mut() {
        out.mark_copied();
    }
    if world.store().settle(&message, None, None, None).await? == Written::Yes {
        return Ok(true);
    }
    // Who stalled before the letter was made may make it when the message has been redriven already.
    let now = world.store().message(&message.id()).await?;
    let died = now.and_then(|now| now.out).and_then(|out| out.died());
    if died != Some(letter.at) {
        world.store().remove_dead_letter(&letter.id, letter.at).await?;
    }
    Ok(false)
}

/// Gives up an open message for `reason`: dead in its record, then its copies.
pub(crate) async fn give_up_message<W: World>(
    world: &W,
    mut message: Message,
    reason: Reason,
    why: Option<String>,
) -> PortResult<bool> {
    let now = world.ambient().now();
    let id = message.id();
    let Some(out) = message.out.as_mut() else {
        return Ok(true);
    };
    let flight = in_flight(&id, out);
    if out.give_up(now, reason, why).is_err() {
        return Ok(false);
    }
    tracing::warn!(
        reason = reason.as_str(),
        attempts = out.attempts,
        "message given up"
    );
    if world.store().save_open(&message, flight.as_ref()).await? == Written::Conflict {
        return Ok(false);
    }
    bury(world, message).await
}

/// The in-flight note of the attempt that a message is in, whose outcome is known now. That of an attempt of unknown outcome
/// stays: the request may still go out, and its echo must not count as typed on the phone.
fn in_flight(id: &MessageId, out: &Outbox) -> Option<InFlight> {
    let OutboxState::Sending {
        nonce, claimed_at, ..
    } = &out.state
    else {
        return None;
    };
    Some(InFlight {
        message: id.clone(),
        to: out.to.clone(),
        nonce: nonce.clone(),
        claimed_at: *claimed_at,
        until: *claimed_at,
        text_hash: String::new(),
        echo: None,
        maybe_echo: None,
    })
}

/// The queue's copy first: the letter in the store is what tells a redelivery that nothing is left to be made.
pub(crate) async fn copy<W: World>(world: &W, letter: &DeadLetter) -> PortResult<()> {
    tracing::warn!(
        dead_letter = %letter.id, queue = letter.queue.as_str(), reason = letter.reason.as_str(),
        correlation_id = %letter.correlation, "dead letter"
    );
    world.queues().send_dead(letter).await?;
    world.store().put_dead_letter(letter).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter is found again under its id when its queue hands the message out again, also by a later version.
    #[test]
    fn ids_of_letters_are_known() {
        assert_eq!(
            unreadable_id(QueueName::Inbound, "{ poison"),
            "1ccf257c7d93a70e859b8e40c7e42a0db548eaf99d1ed64bcbb3a5555bb341e6"
        );
        assert_eq!(
            turn_id(r#"{"conversation":"x"}"#),
            "2990de99de23e8daf02e653a964650e77ee81786dee660b08f8468ea5708dc5e"
        );
    }
}
