//! What is to leave is claimed soon after nothing of its own contact stands in front of it any more. A reply that a takeover
//! made void stands in front of nothing, whatever it waits for itself.

use super::Told;
use crate::executor::START_MS;
use crate::observations::{Attempt, Observations};
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_domain::ids::{InstanceId, MessageId, ThreadId};
use recado_domain::message::Message;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_pipeline::ports::Store;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// How soon, in milliseconds.
const SOON_MS: i64 = 10_000;

/// How long after a disturbance things may still be as it left them, in milliseconds: a stall, the visibility of what
/// somebody had, a backoff.
const SETTLED_MS: i64 = 190_000;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let faults = &sim.common.faults;
    if faults.freeze.is_some() || faults.slow.is_some() || !sim.reconciles {
        return;
    }
    let mut contacts: BTreeMap<ThreadId, Vec<&Message>> = BTreeMap::new();
    for message in told.iter().flat_map(|(_, messages)| messages) {
        // What belongs to a batch may be stopped.
        if message.out.as_ref().is_some_and(|out| out.batch.is_none()) {
            let thread = message.conversation.thread_id().clone();
            contacts.entry(thread).or_default().push(message);
        }
    }
    for messages in contacts.values_mut() {
        messages.sort_by_key(|message| (message.conversation.number_in_thread(), message.ordinal));
        let mut late = Vec::new();
        {
            let observations = sim.common.observations();
            for (place, message) in messages.iter().enumerate() {
                // A redriven one comes after what has left since.
                if super::sends::redriven(sim, &message.message_id()) {
                    break;
                }
                late.extend(lateness(&observations, &messages[..place], message));
            }
        }
        for (id, late) in late.into_iter().filter(|(_, late)| *late > SOON_MS) {
            sim.common.broken(format!(
                "{id} was claimed {late} ms after nothing stood in front of it any more"
            ));
        }
    }
}

/// How long `message` was kept waiting by nothing that is an obstacle, in milliseconds; `None` where it was never claimed, or
/// where something was disturbed.
fn lateness(observations: &Observations, before: &[&Message], message: &Message) -> Option<(MessageId, i64)> {
    // A message that waited for the person's other thread may be parked for a minute more. Invitations may be held back.
    let out = message.out.as_ref();
    if out.is_some_and(|out| !out.beside.is_empty() || out.invitation.is_some()) {
        return None;
    }
    let id = message.message_id();
    let of_it = |attempt: &&Attempt| attempt.message == id;
    let first = observations.attempts.iter().find(of_it)?;
    let committed = *observations.committed.get(&id)?;
    let not_before = observations.not_before.get(&id).copied().unwrap_or(committed);
    // Last words outlive the takeover that made what stood in front of them void.
    let outlives = message.out.as_ref().is_some_and(|out| out.last_words);
    let ends = before
        .iter()
        .filter_map(|before| end_ms(before.out.as_ref()?, outlives));
    let free = ends.fold(committed.max(not_before), i64::max);
    let span = (committed, first.claimed_ms);
    if is_disturbed(observations, span) || was_not_open(observations, &message.instance, span) {
        return None;
    }
    // The instance's rate is everybody's: how long its slot was ahead when it was reserved.
    let slot = first.slot?;
    let reserved = *observations.reserved.get(&(message.instance.clone(), slot))?;
    let ahead = (slot - START_MS - reserved).max(0);
    Some((id, first.claimed_ms - ahead - free))
}

/// When a message stopped standing in front of others. A void one did when its last attempt ended, if it had one; for one
/// that `outlives` what made it void, when it was cancelled.
fn end_ms(out: &Outbox, outlives: bool) -> Option<i64> {
    let steps = out.history.as_slice();
    let last = match out.state {
        OutboxState::Cancelled { .. } if !outlives => {
            steps.len().checked_sub(2).filter(|place| *place > 0)?
        }
        _ => steps.len().checked_sub(1)?,
    };
    Some(steps[last].at.as_millisecond() - START_MS)
}

fn is_disturbed(observations: &Observations, (from, to): (i64, i64)) -> bool {
    let mut disturbed = observations.disturbed.iter();
    disturbed.any(|at| (from - SETTLED_MS..=to).contains(at))
}

/// Whether the record of `instance` said at some time of that span that it could not send, or shortly before.
fn was_not_open(observations: &Observations, instance: &InstanceId, (from, to): (i64, i64)) -> bool {
    let of_it = observations
        .connections
        .iter()
        .filter(|(of, _, _)| of == instance);
    let mut since: Option<i64> = None;
    for (_, at, is_open) in of_it {
        match (is_open, since) {
            (false, None) => since = Some(*at),
            (true, Some(closed)) => {
                if closed <= to && *at + SETTLED_MS >= from {
                    return true;
                }
                since = None;
            }
            _ => {}
        }
    }
    since.is_some_and(|closed| closed <= to)
}
