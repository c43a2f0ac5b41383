//! The agent writes nobody more replies in an hour than its limit allows, and what is owed then waits for a person.

use super::Told;
use super::answers::covers;
use crate::simulator::Simulator;
use jiff::SignedDuration;
use recado_domain::ids::InstanceId;
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::reason::Reason;
use std::collections::BTreeMap;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    // A person who gives a conversation back lets the agent write as many again.
    let untouched = told
        .iter()
        .filter(|(conversation, _)| sim.ledger().acts_on(&conversation.id).count() == 0);
    let mut threads: BTreeMap<_, Vec<&Told>> = BTreeMap::new();
    for told in untouched {
        threads
            .entry(told.0.id.thread_id().clone())
            .or_default()
            .push(told);
    }
    for (thread, told) in threads {
        let Some(limit) = told
            .first()
            .and_then(|(first, _)| find_limit(sim, &first.instance))
        else {
            continue;
        };
        let mut times: Vec<_> = told
            .iter()
            .flat_map(|(_, messages)| messages)
            .filter(|message| is_reply(message))
            .map(|reply| reply.stored_at)
            .collect();
        times.sort_unstable();
        let too_fast = times
            .windows(limit + 1)
            .any(|window| add_duration(window[0], SignedDuration::from_hours(1)) > window[limit]);
        if too_fast {
            sim.common.broken(format!(
                "{} got more than {limit} replies in an hour",
                thread.as_str()
            ));
        }
    }
}

/// Returns `true` if the conversation says that the limit is reached, and `message` came after the last reply, of which there are enough.
pub(super) fn is_paused<S, Q>(
    sim: &Simulator<S, Q>,
    (conversation, messages): &Told,
    message: &Message,
) -> bool {
    let replies: Vec<&Message> = messages.iter().filter(|message| is_reply(message)).collect();
    let limit = find_limit(sim, &conversation.instance);
    conversation.needs_person == Some(Reason::TooManyTurns)
        && limit.is_some_and(|limit| replies.len() >= limit)
        && replies.iter().all(|reply| covers(reply) < message.ordinal)
}

fn find_limit<S, Q>(sim: &Simulator<S, Q>, instance: &InstanceId) -> Option<usize> {
    let bound = sim.bounds.iter().find(|bound| bound.instance.id == *instance)?;
    let limit = usize::try_from(bound.agent.limits.turns_per_hour).ok()?;
    (limit > 0).then_some(limit)
}

/// Returns `true` if a turn of the agent wrote it; of several parts the first.
fn is_reply(message: &Message) -> bool {
    let of_turn = message.out.as_ref().is_some_and(|out| out.turn.is_some());
    of_turn && message.reply_id() == Some(message.message_id())
}
