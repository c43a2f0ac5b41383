//! The promises, checked against what the phones got and what the records say.

mod access;
mod answers;
mod attempts;
mod batches;
mod bursts;
mod clients;
mod decisions;
mod deliveries;
mod drafts;
mod effects;
mod endpoints;
mod entries;
mod erasures;
mod events;
mod files;
mod hours;
mod leaving;
mod limits;
mod lists;
mod marks;
mod meanings;
mod people;
mod persons;
mod reading;
mod reasons;
mod reminders;
mod removals;
mod sends;
mod silences;
mod turns;
mod unwanted;
mod usage;
mod waiting;
mod waits;
mod window;

// The tests of this library play no behaviours.
#[cfg(all(feature = "embedded", not(test)))]
pub(crate) use {access::is_left_out, answers::covers, people::answered};

use crate::open_records::list_open_records;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use people::People;
use recado_domain::conversation::Conversation;
use recado_domain::ids::ConversationId;
use recado_domain::message::Message;
use recado_pipeline::ports::{ConversationFilter, PageRequest, Store};
use std::fmt::Debug;

/// A conversation with all its messages, by ordinal.
pub(crate) type Told = (Conversation, Vec<Message>);

/// Checks every promise; what is broken is noted.
pub fn check<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    endpoints::check(sim);
    entries::check(sim);
    if !sim.ledger().removals.is_empty() {
        // The other promises are about records that are gone.
        removals::check(sim);
        nothing_open(sim);
        return;
    }
    let told = told(sim);
    follow_redirects(sim, &told);
    events::check(sim, &told);
    access::check(sim, &told);
    hours::check(sim, &told);
    let people = People::of(sim, &told);
    answers::check(sim, &told, &people);
    reading::check(sim, &told);
    reasons::check(sim, &told, &people);
    marks::check(sim, &told);
    people::check(sim, &told, &people);
    sends::check(sim, &told);
    attempts::check(sim, &told);
    waits::check(sim, &told);
    bursts::check(sim, &told);
    decisions::check(sim, &told);
    clients::check(sim, &told);
    batches::check(sim, &told);
    erasures::check(sim, &told);
    drafts::check(sim, &told);
    effects::check(sim, &told);
    reminders::check(sim, &told);
    silences::check(sim, &told);
    drafts::check_searches(sim, &told);
    drafts::check_lookups(sim, &told);
    limits::check(sim, &told);
    usage::check(sim, &told);
    turns::check(sim);
    leaving::check(sim, &told);
    files::check(sim, &told);
    meanings::check(sim);
    unwanted::check(sim);
    deliveries::check(sim, &told);
    lists::check(sim, &told);
    waiting::check(sim, &told);
    nothing_open(sim);
}

fn told<S, Q>(sim: &Simulator<S, Q>) -> Vec<Told>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (mut all, mut page) = (Vec::new(), first_page());
    loop {
        let found = block_on(
            sim.store
                .search_conversations(&ConversationFilter::default(), &page),
        )
        .expect("conversations are read");
        for conversation in found.items {
            let messages = messages(sim, &conversation);
            all.push((conversation, messages));
        }
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return all,
        }
    }
}

/// Through how many threads a conversation that was left leads to the one that goes on, at most.
const THREADS_MAX: usize = 8;

/// Assigns people's acts on a conversation that only leads to another one to that other one, as the operators' API does.
fn follow_redirects<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let is_listed = |id: &ConversationId| told.iter().any(|(conversation, _)| conversation.id == *id);
    let acts = sim.ledger().acts.clone();
    for (place, act) in acts.iter().enumerate() {
        let mut id = act.conversation.clone();
        for _ in 0..THREADS_MAX {
            if is_listed(&id) {
                break;
            }
            let found = block_on(sim.store.find_conversation(&id)).expect("conversations are read");
            let Some(moved_to) = found.and_then(|conversation| conversation.linked.moved_to) else {
                break;
            };
            id = moved_to;
        }
        sim.ledger().acts[place].conversation = id;
    }
}

fn first_page() -> PageRequest {
    PageRequest::first(100)
}

fn messages<S, Q>(sim: &Simulator<S, Q>, conversation: &Conversation) -> Vec<Message>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (mut all, mut page) = (Vec::new(), first_page());
    loop {
        let found = block_on(sim.store.list_messages(&conversation.id, &page)).expect("messages are read");
        all.extend(found.items);
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => break,
        }
    }
    all.sort_by_key(|message| message.ordinal);
    all
}

/// No record waits for anything, and no queue gave anything up by itself.
fn nothing_open<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    if !sim.reconciles {
        // Nobody asks then; what the messages say was looked at.
        return;
    }
    let far = recado_domain::millis::add_millis(sim.simulation().now(), 400 * 86_400_000);
    for open in block_on(list_open_records(&sim.store, far, 20)).expect("open records are read") {
        if sim.is_only_booked(&open) {
            continue;
        }
        sim.common.broken(format!("left open: {open:?}"));
    }
    for dead in sim.queues.dead().iter().filter(|dead| dead.copy_of.is_none()) {
        sim.common.broken(format!(
            "{} gave up by itself: {}",
            dead.queue.as_str(),
            dead.body
        ));
    }
}
