//! What a contact writes without a pause gets one reply, while nothing goes wrong.

use super::Told;
use super::answers::{Wants, counts, covers, wants};
use super::waits::is_undisturbed;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_domain::debounce::PrecedingMessages;
use recado_domain::ids::Ordinal;
use recado_domain::message::{Message, Role};
use recado_domain::millis::to_millis;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// What the pauses of a burst must be shorter by than the debounce, in milliseconds: a message is stored before its timer is
/// set, and a timer's function needs some time to read.
const MARGIN_MS: i64 = 500;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    if !is_undisturbed(sim) {
        return;
    }
    for conversation in told {
        of_conversation(sim, conversation);
    }
}

fn of_conversation<S, Q>(sim: &Simulator<S, Q>, (conversation, messages): &Told)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    // A turn also reads what is deleted later, and owes no answer then.
    let of_contact = || messages.iter().filter(|message| message.role == Role::User);
    let asked: Vec<&Message> = of_contact()
        .filter(|message| wants(sim, message) == Wants::Yes)
        .collect();
    let acts = sim.ledger().acts_on(&conversation.id).count();
    let typed = messages.iter().any(|message| message.role == Role::Operator);
    // What one turn cannot read is the next one's, and what people do makes turns of its own.
    let waits_changed = sim.ledger().configured.contains(&conversation.instance);
    if of_contact().count() > sim.settings.turn_reads.messages || acts > 0 || typed || waits_changed {
        return;
    }
    let stored = |message: &Message| {
        let observations = sim.common.observations();
        message
            .event
            .as_ref()
            .and_then(|event| observations.stored.get(event).copied())
    };
    let bound = sim
        .bounds
        .iter()
        .find(|bound| bound.instance.id == conversation.instance);
    let (of_all, bounds) = (sim.settings.debounce, sim.settings.debounce_bounds);
    let debounce = bound.map_or(of_all, |bound| of_all.resolve_for(&bound.instance, bounds));
    // The shortest wait is for the first message of a burst, or for an answer to a question; whether it is one, nobody needs to know here.
    let silence = |message: &Message| {
        let contexts = [(true, true), (true, false), (false, true), (false, false)];
        let waits = contexts.map(|(goes_on, asked)| {
            debounce.silence_after(&message.content, PrecedingMessages { goes_on, asked })
        });
        to_millis(waits.into_iter().min().unwrap_or_default())
    };
    let longest = to_millis(sim.settings.debounce_max);
    let skew = 2 * sim.common.faults.skew_ms;
    let mut begun: Option<(&Message, i64)> = None;
    let mut before: Option<(&Message, i64)> = None;
    for message in asked.iter().copied() {
        let Some(at) = stored(message) else { continue };
        let goes_on = before.is_some_and(|last| at - last.1 <= silence(last.0) - MARGIN_MS);
        let (first, since) = begun.filter(|_| goes_on).unwrap_or((message, at));
        begun = Some((first, since));
        let in_time = at - since <= longest - silence(message) - skew - MARGIN_MS;
        // While an answer is owed from before the burst, the longest wait counts from there.
        let is_owed = |earlier: &&Message| {
            earlier.ordinal < first.ordinal && reply_to(messages, earlier) > Some(first.ordinal)
        };
        if let Some((last, _)) = before.filter(|_| goes_on && in_time)
            && !asked.iter().any(is_owed)
            && reply_to(messages, last) != reply_to(messages, message)
        {
            sim.common.broken(format!(
                "{} and {} came in one burst and have two replies",
                last.message_id(),
                message.message_id()
            ));
        }
        before = Some((message, at));
    }
}

/// The place of the first reply that covers a message.
fn reply_to(messages: &[Message], message: &Message) -> Option<Ordinal> {
    let mut replies = messages.iter().filter(|reply| counts(reply));
    let reply = replies.find(|reply| covers(reply) >= message.ordinal)?;
    Some(reply.ordinal)
}
