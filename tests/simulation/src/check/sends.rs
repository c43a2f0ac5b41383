//! What the phones got agrees with the records: nothing twice without a mark, in order, and not too fast.

use super::persons::Persons;
use super::{Told, meanings, window};
use crate::executor::START_MS;
use crate::fake_world::{CLOUD, traits};
use crate::person::phone;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::event::EventState;
use recado_domain::ids::{InstanceId, MessageId, Ordinal, ThreadId};
use recado_domain::message::Message;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::rate::Rate;
use recado_pipeline::ports::Store;
use recado_pipeline::records::dead_letters::find_dead_letter;
use std::collections::BTreeMap;
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let mut arrivals: BTreeMap<MessageId, Count> = BTreeMap::new();
    let attempts = sim.common.observations().attempts.clone();
    let mut words: BTreeMap<Words, Balance> = BTreeMap::new();
    for ((instance, phone), arrived) in sim.fake_world.phones() {
        for one in arrived {
            let attempt = one.attempt.and_then(|place| attempts.get(place));
            let is_allowed = attempt.is_some_and(|attempt| meanings::is_allowed(sim, attempt));
            let of_message = arrivals.entry(one.message).or_default();
            of_message.all += 1;
            of_message.unmarked += usize::from(!is_allowed);
            let of_words = words.entry((instance.clone(), phone.clone(), one.text));
            of_words.or_default().arrived += 1;
        }
    }
    for (conversation, messages) in told {
        for message in messages {
            if let Some(out) = &message.out {
                let of_words = words.entry(words_of(conversation, message)).or_default();
                of_words.messages.push(message.message_id());
                of_words.sent += usize::from(matches!(out.state, OutboxState::Sent { .. }));
            }
        }
    }
    for (conversation, messages) in told {
        for message in messages {
            if let Some(out) = &message.out {
                let arrived = arrivals.get(&message.message_id()).copied().unwrap_or_default();
                let balance = &words[&words_of(conversation, message)];
                one(sim, message, out, (arrived, balance));
            }
        }
    }
    window::check(sim, told);
    order(sim);
    order_of_persons(sim, told);
    rate(sim);
}

/// The numbers of arrivals of a message: all, and those by attempts whose record did not say that it may have been sent before.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    all: usize,
    unmarked: usize,
}

/// A phone of an instance, and words.
type Words = (InstanceId, ContactAddress, String);

/// How often the same words count as sent to a phone, and how often they arrived there.
#[derive(Debug, Clone, Default)]
struct Balance {
    messages: Vec<MessageId>,
    sent: usize,
    arrived: usize,
}

fn words_of(conversation: &Conversation, message: &Message) -> Words {
    let words = message.content.render_text();
    (conversation.instance.clone(), phone(&conversation.address), words)
}

fn one<S, Q>(sim: &Simulator<S, Q>, message: &Message, out: &Outbox, (count, words): (Count, &Balance))
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (id, state, arrived) = (message.message_id(), &out.state, count.all);
    let broken = |what: String| {
        let whole = format!("{id} is {} and {what}", state.as_str());
        sim.common.broken(whole);
    };
    if state.is_open() {
        broken("the history is over".to_owned());
    }
    if count.unmarked > 1 {
        let unmarked = count.unmarked;
        broken(format!("arrived {arrived} times, {unmarked} of them unmarked"));
    }
    let dead_letter = block_on(find_dead_letter(&sim.store, id.as_str())).expect("letters are read");
    let is_dead = matches!(state, OutboxState::Dead { .. });
    if is_dead != dead_letter.is_some() {
        broken(format!(
            "has {} dead letter",
            if dead_letter.is_some() { "a" } else { "no" }
        ));
    }
    if matches!(state, OutboxState::Sent { .. }) && arrived == 0 {
        // A linked phone's echo has no id of ours. Where a person's two conversations send the same words side by side,
        // the echo of one may settle the other: then the words have arrived as often as they count as sent.
        let is_linked = sim.fake_world.line(&message.instance, |line| line.provider) != Some(CLOUD);
        let balances = is_linked && words.arrived >= words.sent;
        let own = [id.clone()];
        let equals = if is_linked { &words.messages[..] } else { &own };
        if !balances && !equals.iter().any(|id| its_failure_is_dead(sim, id)) {
            broken("never arrived".to_owned());
        }
    }
    if matches!(state, OutboxState::Cancelled { .. } | OutboxState::Dead { .. })
        && arrived > 0
        && !out.maybe_sent
    {
        broken("arrived all the same".to_owned());
    }
}

/// Whether an event that tells that this message failed was itself given up, and waits for a person.
fn its_failure_is_dead<S, Q>(sim: &Simulator<S, Q>, message: &MessageId) -> bool
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let told = sim.fake_world.failures(message);
    let mut records = told
        .iter()
        .filter_map(|id| block_on(sim.store.find_event(id)).expect("events are read"));
    records.any(|record| record.state == EventState::Dead)
}

/// By first arrival, a contact's messages came in the order of their conversations and ordinals, also where one conversation
/// was resolved before the next began (a redriven one counts by its own time).
fn order<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    for arrived in sim.fake_world.phones().values() {
        let mut newest: BTreeMap<ThreadId, (u32, Ordinal)> = BTreeMap::new();
        let mut seen = Vec::new();
        for one in arrived {
            let Ok((conversation, ordinal)) = one.message.conversation_and_ordinal() else {
                continue;
            };
            if seen.contains(&one.message) {
                continue;
            }
            seen.push(one.message.clone());
            let place = (conversation.number_in_thread(), ordinal);
            let before = newest.entry(conversation.thread_id().clone()).or_default();
            if place < *before && !redriven(sim, &one.message) && !was_held(sim, &one.message) {
                sim.common.broken(format!(
                    "{} arrived after number {}.{}",
                    one.message, before.0, before.1
                ));
            }
            *before = place.max(*before);
        }
    }
}

/// A person's messages arrived in the order in which they were made, whatever thread they are of, from when on that was known
/// to be the same person's. Each was made at its time by its maker's clock, and is known to others once it is committed.
fn order_of_persons<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    let persons = Persons::of(sim, told);
    let made: BTreeMap<MessageId, i64> = told
        .iter()
        .flat_map(|(_, messages)| messages)
        .map(|message| {
            (
                message.message_id(),
                message.stored_at.as_millisecond() - START_MS,
            )
        })
        .collect();
    let committed = sim.common.observations().committed.clone();
    let clocks = 2 * sim.common.faults.skew_ms;
    for arrived in sim.fake_world.phones().values() {
        let mut seen: Vec<&MessageId> = Vec::new();
        for one in arrived.iter().map(|arrived| &arrived.message) {
            if seen.contains(&one) {
                continue;
            }
            let overtook = seen.iter().find(|earlier| {
                let (Ok((of_one, _)), Ok((of_earlier, _))) =
                    (one.conversation_and_ordinal(), earlier.conversation_and_ordinal())
                else {
                    return false;
                };
                let joined = persons.joined_ms(&of_earlier);
                let knew = joined
                    .is_some_and(|joined| made.get(earlier).is_some_and(|made| joined + clocks < *made));
                let times = committed.get(one).zip(made.get(earlier));
                let before = times.is_some_and(|(committed, made)| committed + clocks < *made);
                of_one.thread_id() != of_earlier.thread_id() && knew && before
            });
            if let Some(earlier) = overtook
                && !redriven_in(sim, one)
                && !was_held(sim, one)
            {
                let what = format!("{one} arrived after {earlier}, which was made later for the same person");
                sim.common.broken(what);
            }
            seen.push(one);
        }
    }
}

/// Whether somebody redrove something of the same thread: what that answered may be answered anew, late.
fn redriven_in<S, Q>(sim: &Simulator<S, Q>, id: &MessageId) -> bool {
    let thread = |id: &str| {
        let id = MessageId::parse(id).ok()?;
        let (conversation, _) = id.conversation_and_ordinal().ok()?;
        Some(conversation.thread_id().clone())
    };
    let of_it = thread(id.as_str());
    let ledger = sim.ledger();
    ledger
        .redrives
        .iter()
        .any(|redrive| thread(&redrive.dead_letter) == of_it)
}

/// Whether somebody redrove it.
pub(super) fn redriven<S, Q>(sim: &Simulator<S, Q>, id: &MessageId) -> bool {
    sim.ledger().redriven(id.as_str(), 0, i64::MAX)
}

/// Returns `true` for an invitation for which nothing else to its contact waited.
fn was_held<S, Q>(sim: &Simulator<S, Q>, id: &MessageId) -> bool {
    sim.common.observations().held.contains(id)
}

/// In no window leave more than burst + rate × (window + skew).
fn rate<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let skew = sim.common.faults.skew_ms;
    for bound in &sim.bounds {
        let Rate { per_second, burst } = bound
            .instance
            .resolve_rate(&traits(bound.instance.provider), sim.settings.rate);
        let mut requests = sim
            .fake_world
            .line(&bound.instance.id, |line| line.requests.clone())
            .unwrap_or_default();
        requests.sort_unstable();
        // For each request the least room since any before it: first − rate × time, carried along.
        let mut room: f64 = f64::from(burst);
        let mut last = None;
        for at in requests {
            if let Some(last) = last {
                room = (room + per_second * millis(at - last)).min(f64::from(burst));
            }
            last = Some(at);
            room -= 1.0;
            if room < -(per_second * millis(skew)) - 1e-6 {
                let over = -room;
                sim.common.broken(format!(
                    "{} sent {over:.2} over its rate at {at} ms",
                    bound.instance.id
                ));
                break;
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "histories last days, not millennia")]
fn millis(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1_000.0
}
