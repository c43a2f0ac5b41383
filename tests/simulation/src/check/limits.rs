//! The agent writes nobody more replies in an hour than its limit allows, and a tenant's agents use no more tokens on a day. What is
//! owed then waits for a person.

use super::Told;
use super::answers::covers;
use crate::simulator::Simulator;
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::InstanceId;
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::reason::Reason;
use recado_domain::usage::usage_of_reply;
use std::collections::BTreeMap;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    check_tokens(sim, told);
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

/// Checks the tokens of each day of tenants that limit them. Where one contact writes, no reply is drafted beside another.
fn check_tokens<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    let limits = sim
        .bounds
        .iter()
        .filter_map(|bound| Some((&bound.tenant.id, bound.tenant.tokens_per_day?.get())));
    for (tenant, limit) in limits {
        let replies = told
            .iter()
            .filter(|(conversation, _)| conversation.tenant == *tenant)
            .flat_map(|(_, messages)| messages);
        let mut used: Vec<_> = replies
            .flat_map(|reply| usage_of_reply(std::slice::from_ref(reply)))
            .map(|sum| (sum.day, sum.tokens.count_all_tokens()))
            .collect();
        used.sort_unstable_by_key(|(day, _)| *day);
        for of_day in used.chunk_by(|(one, _), (other, _)| one == other) {
            let before_last: u64 = of_day.iter().skip(1).map(|(_, tokens)| tokens).sum();
            if before_last >= limit {
                sim.common.broken(format!(
                    "{tenant} used {before_last} tokens and more on a day, where {limit} are allowed"
                ));
            }
        }
    }
}

/// Returns `true` if the tokens of the tenant are used up, and `message` came after the last reply.
fn is_out_of_tokens<S, Q>(sim: &Simulator<S, Q>, (conversation, messages): &Told, message: &Message) -> bool {
    let has_limit = |bound: &InstanceConfig| {
        bound.tenant.id == conversation.tenant && bound.tenant.tokens_per_day.is_some()
    };
    let mut replies = messages.iter().filter(|message| is_reply(message));
    conversation.needs_person == Some(Reason::TokenBudget)
        && sim.bounds.iter().any(has_limit)
        && replies.all(|reply| covers(reply) < message.ordinal)
}

/// Returns `true` if the conversation says that the limit is reached, and `message` came after the last reply, of which there are enough.
pub(super) fn is_paused<S, Q>(sim: &Simulator<S, Q>, told: &Told, message: &Message) -> bool {
    if is_out_of_tokens(sim, told, message) {
        return true;
    }
    let (conversation, messages) = told;
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
