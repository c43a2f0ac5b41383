//! A contact who writes on while the model thinks is answered in the end, where drafts are dropped for that.

use super::Told;
use super::answers::{Wants, counts, covers, wants};
use super::waits::is_undisturbed;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_domain::conversation::Conversation;
use recado_domain::message::{Message, Role};
use recado_domain::millis::to_millis;
use recado_domain::tools::ToolOutcome;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// The longest that a draft takes, with what a function needs around it, in milliseconds.
const DRAFT_MS: i64 = 35_000;

/// The longest that a search in the agent's documents takes, with the vector of the question, in milliseconds.
const SEARCH_MS: i64 = 6_000;

/// The time by which a turn job may be late, in milliseconds: one that meets another's lease comes back after three seconds.
const LATE_MS: i64 = 10_000;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    if sim.settings.restart_drafts == 0 || !is_undisturbed(sim) || sim.fake_world.was_model_troubled() {
        return;
    }
    for (conversation, messages) in told.iter().filter(|told| is_plain(sim, told)) {
        let of_contact = messages.iter().filter(|message| message.role == Role::User);
        for message in of_contact.filter(|message| wants(sim, message) == Wants::Yes) {
            answered_in_time(sim, conversation, messages, message);
        }
    }
}

/// Returns `true` if nothing but drafts keeps the contact waiting: no people, no hours, and one turn can read all.
fn is_plain<S, Q>(sim: &Simulator<S, Q>, (conversation, messages): &Told) -> bool {
    let mut bounds = sim.bounds.iter();
    let bound = bounds.find(|bound| bound.instance.id == conversation.instance);
    let is_open = bound.is_some_and(|bound| bound.instance.opening_hours.is_none());
    let changes = sim.ledger().configured.contains(&conversation.instance);
    let acts = sim.ledger().acts_on(&conversation.id).count();
    let by_people = messages.iter().any(|message| message.role == Role::Operator);
    let of_contact = messages
        .iter()
        .filter(|message| message.role == Role::User)
        .count();
    is_open && !changes && acts == 0 && !by_people && of_contact <= sim.settings.turn_reads.messages
}

/// The reply comes after the longest debounce, a draft that was under way, those that may be dropped, and one more.
fn answered_in_time<S, Q>(
    sim: &Simulator<S, Q>,
    conversation: &Conversation,
    messages: &[Message],
    message: &Message,
) {
    let drafts = i64::from(sim.settings.restart_drafts) + 2;
    let most = to_millis(sim.settings.debounce_max) + drafts * DRAFT_MS + LATE_MS;
    if let Some(late) = find_lateness(sim, messages, message).filter(|late| *late > most) {
        let (id, of) = (message.message_id(), &conversation.id);
        sim.common.broken(format!(
            "{id} of {of} was answered after {late} ms: drafts were dropped"
        ));
    }
}

/// Returns the milliseconds from when a contact's message was stored until its answer was committed.
fn find_lateness<S, Q>(sim: &Simulator<S, Q>, messages: &[Message], message: &Message) -> Option<i64> {
    let mut replies = messages.iter().filter(|reply| counts(reply));
    let reply = replies.find(|reply| covers(reply) >= message.ordinal)?;
    let observations = sim.common.observations();
    let stored = observations.stored.get(message.event.as_ref()?)?;
    Some(observations.committed.get(&reply.message_id())? - stored)
}

/// A search that hangs holds a turn for no longer than its limit, and nobody waits until the function is cut off.
pub(super) fn check_searches<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let is_disturbed = sim.common.counters().faults() > 0 || sim.fake_world.was_model_troubled();
    if !sim.fake_world.did_search_hang() || is_disturbed {
        return;
    }
    // Messages come one by one in such a history: no draft is under way.
    let most = to_millis(sim.settings.debounce_bounds.long * 2) + DRAFT_MS + SEARCH_MS + LATE_MS;
    for (conversation, messages) in told.iter().filter(|told| is_plain(sim, told)) {
        let of_contact = messages.iter().filter(|message| message.role == Role::User);
        for message in of_contact.filter(|message| wants(sim, message) == Wants::Yes) {
            let late = find_lateness(sim, messages, message).filter(|late| *late > most);
            if let Some(late) = late {
                let (id, of) = (message.message_id(), &conversation.id);
                sim.common.broken(format!(
                    "{id} of {of} was answered after {late} ms: a search in the documents hung"
                ));
            }
        }
    }
}

/// The longest that a turn takes whose model thinks for a second, with a call of a tool that hangs, in milliseconds.
const LOOKUP_TURN_MS: i64 = 40_000;

/// A tool that reads blocks no reply and breaks none: it is called as often as a turn may, and whatever it answers, the contact gets the
/// model's words in time.
pub(super) fn check_lookups<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    for message in told.iter().flat_map(|(_, messages)| messages) {
        let turn = message.out.as_ref().and_then(|out| out.turn.as_ref());
        let reads = turn.into_iter().flat_map(|turn| &turn.tools);
        let made = reads.filter(|call| call.outcome != ToolOutcome::TooMany);
        if made.count() > sim.settings.tool_calls {
            let id = message.message_id();
            sim.common
                .broken(format!("the turn of {id} made more calls than it may"));
        }
    }
    if !sim.fake_world.is_lookup_story() {
        return;
    }
    let is_disturbed = sim.common.counters().faults() > 0;
    for (conversation, messages) in told {
        let error = sim
            .agent_of(&conversation.instance)
            .map(|agent| &agent.error_message);
        let of_contact = messages.iter().filter(|message| message.role == Role::User);
        for message in of_contact.filter(|message| wants(sim, message) == Wants::Yes) {
            let late = find_lateness(sim, messages, message).filter(|late| *late > LOOKUP_TURN_MS);
            if let Some(late) = late.filter(|_| !is_disturbed) {
                let id = message.message_id();
                sim.common.broken(format!(
                    "{id} was answered after {late} ms: a tool that reads blocked it"
                ));
            }
        }
        let mut replies = messages.iter().filter(|message| message.role == Role::Assistant);
        if let Some(reply) = replies.find(|reply| Some(&reply.content.render_text()) == error) {
            let id = reply.message_id();
            sim.common
                .broken(format!("{id} is the error message: a tool that reads broke it"));
        }
    }
}
