//! Effects of agents' tools happen once for each wish, every effect ends, no reply says that something is done that is not, and no
//! slot of a calendar is held for two or for nothing.

use super::Told;
use super::hours::is_notice;
use crate::queue::WorkQueues;
use crate::simulator::{OperatorRequest, Simulator};
use futures::executor::block_on;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::effects::{Booking, CellSpan, EffectEntry, EffectId, EffectState, Journal};
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_millis;
use recado_domain::outbox::{Author, OutboxState};
use recado_pipeline::ports::Store;
use recado_pipeline::records::effects::{find_journal, list_held_cells};
use std::collections::BTreeSet;
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    single_wishes(sim);
    let threads: BTreeSet<_> = told
        .iter()
        .map(|(conversation, _)| (&conversation.tenant, conversation.id.thread_id()))
        .collect();
    let find =
        |(tenant, thread)| block_on(find_journal(&sim.store, tenant, thread)).expect("journals are read");
    let journals = threads.into_iter().filter_map(find).map(|found| found.record);
    let journals: Vec<Journal> = journals.collect();
    for journal in &journals {
        for entry in &journal.entries {
            ended_as_it_did(sim, entry);
            begun_rightly(sim, told, entry);
            told_of(sim, told, entry);
        }
    }
    confirmed(sim, told, &journals);
    calendar_is_as_booked(sim, &journals);
    clashes_are_noted(sim, told, &journals);
    cells_are_as_booked(sim, &journals);
}

/// One wish, one change outside; and no call left after the time of its effect.
fn single_wishes<S, Q>(sim: &Simulator<S, Q>) {
    let mut seen = BTreeSet::new();
    for happened in sim.fake_world.happened() {
        if !seen.insert(happened.wish.clone()) {
            sim.common
                .broken(format!("a wish was done twice: {}", happened.wish));
        }
    }
    if sim.fake_world.is_wished_slot_free() {
        sim.common
            .broken("all wished a slot, and nobody has it".to_owned());
    }
    for effect in sim.fake_world.late_calls() {
        sim.common
            .broken(format!("the call of effect {effect} left after its time"));
    }
}

fn ended_as_it_did<S, Q>(sim: &Simulator<S, Q>, entry: &EffectEntry) {
    let happened = sim.fake_world.happened();
    let happened = happened.iter().any(|one| one.effect == entry.id);
    let (number, state) = (entry.number, entry.state.as_str());
    if happened != (entry.state == EffectState::Done) {
        sim.common
            .broken(format!("effect {number} is {state}, and it happened: {happened}"));
    }
    if entry.state.is_open() {
        sim.common.broken(format!("effect {number} is {state} for ever"));
    }
}

/// No effect began after people took the conversation over, or after the contact had taken its wish back.
fn begun_rightly<S, Q>(sim: &Simulator<S, Q>, told: &[Told], entry: &EffectEntry) {
    let Some(begun) = sim.common.observations().begun_effects.get(&entry.id).copied() else {
        return;
    };
    let number = entry.number;
    let ledger = sim.ledger();
    let acts: Vec<_> = ledger.acts_on(&entry.conversation).collect();
    let given_back = |from: i64| {
        let mut acts = acts.iter();
        acts.any(|act| act.request == OperatorRequest::GiveBack && (from..=begun).contains(&act.begun_ms))
    };
    let mut taken = acts
        .iter()
        .filter(|act| act.takes_over() && act.told == Some(true) && act.over_ms < begun);
    if taken.any(|act| !given_back(act.begun_ms)) {
        sim.common
            .broken(format!("effect {number} began after a takeover"));
    }
    let of_it = told
        .iter()
        .filter(|(conversation, _)| conversation.id == entry.conversation);
    let mut later = of_it
        .flat_map(|(_, messages)| messages)
        .filter(|message| message.role == Role::User && message.ordinal > entry.base);
    let stored = &sim.common.observations().stored;
    let takes_back = |message: &Message| {
        let at = message.event.as_ref().and_then(|event| stored.get(event));
        message.content.render_text().ends_with("-nevermind") && at.is_some_and(|at| *at < begun)
    };
    if later.any(takes_back) {
        sim.common
            .broken(format!("effect {number} began although its wish was taken back"));
    }
}

/// A reply tells of each effect that is done, or a note tells people.
fn told_of<S, Q>(sim: &Simulator<S, Q>, told: &[Told], entry: &EffectEntry) {
    if entry.state != EffectState::Done {
        return;
    }
    let thread = entry.conversation.thread_id();
    let mut of_thread = told
        .iter()
        .filter(|(conversation, _)| conversation.id.thread_id() == thread);
    let is_told = of_thread.any(|(conversation, messages)| {
        let mut replies = messages.iter().filter(|message| stands(message));
        let knows = |message: &Message| claims(sim, message).contains(&entry.number);
        is_noted(sim, conversation, entry) || replies.any(knows)
    });
    if !is_told {
        sim.common
            .broken(format!("nobody was told that effect {} is done", entry.number));
    }
}

/// A note names the effect, or did until the conversation was given back to the agent or erased.
fn is_noted<S, Q>(sim: &Simulator<S, Q>, conversation: &Conversation, entry: &EffectEntry) -> bool {
    let names = format!("Action {}, ", entry.number);
    let note = conversation.people.hand_over_note.as_ref();
    let begun = sim.common.observations().begun_effects.get(&entry.id).copied();
    let ledger = sim.ledger();
    let mut acts = ledger.acts_on(&conversation.id);
    let is_given_back =
        acts.any(|act| act.request == OperatorRequest::GiveBack && Some(act.begun_ms) > begun);
    note.is_some_and(|note| note.text.contains(&names)) || is_given_back || conversation.erased_at.is_some()
}

/// Returns `true` for a reply of the agent that was not cancelled.
fn stands(message: &Message) -> bool {
    let out = message.out.as_ref().filter(|out| out.author == Author::Ai);
    out.is_some_and(|out| !matches!(out.state, OutboxState::Cancelled { .. })) && !is_notice(message)
}

/// The effects that a reply says are done.
fn claims<S, Q>(sim: &Simulator<S, Q>, message: &Message) -> BTreeSet<u64> {
    let answer = sim.fake_world.model_answer(&message.content.render_text());
    answer.map(|answer| answer.done).unwrap_or_default()
}

/// No reply says that something is done which is not.
fn confirmed<S, Q>(sim: &Simulator<S, Q>, told: &[Told], journals: &[Journal]) {
    for (conversation, messages) in told {
        let mut journals = journals.iter();
        let journal = journals.find(|journal| journal.thread == *conversation.id.thread_id());
        let Some(journal) = journal else {
            continue;
        };
        for message in messages.iter().filter(|message| stands(message)) {
            for number in claims(sim, message) {
                let entry = journal.find_entry(number);
                if entry.is_some_and(|entry| entry.state != EffectState::Done) {
                    let id = message.message_id();
                    sim.common
                        .broken(format!("{id} confirms effect {number}, which is not done"));
                }
            }
        }
    }
}

/// The events of the calendar are those that are booked, at their times, and no two share a time.
fn calendar_is_as_booked<S, Q>(sim: &Simulator<S, Q>, journals: &[Journal]) {
    let bookings: Vec<&Booking> = journals.iter().flat_map(|journal| &journal.bookings).collect();
    let events = sim.fake_world.events();
    let live: Vec<(&EffectId, &CellSpan)> = events
        .iter()
        .filter(|(_, event)| !event.is_deleted && !event.is_fence)
        .filter_map(|(id, event)| Some((id, event.span.as_ref()?)))
        .collect();
    for (id, span) in &live {
        if !bookings
            .iter()
            .any(|booking| booking.event == **id && booking.span == **span)
        {
            sim.common
                .broken(format!("event {id} at {} is not booked so", span.start));
        }
        let is_in_the_way = |id: &EffectId| events.get(id).is_some_and(|event| event.is_in_the_way);
        let mut others = live
            .iter()
            .filter(|(other, _)| other != id && !is_in_the_way(other) && !is_in_the_way(id));
        if others.any(|(_, other)| other.start < span.end && span.start < other.end) {
            sim.common
                .broken(format!("two events share the time {}", span.start));
        }
    }
    for booking in bookings {
        if !live.iter().any(|(id, _)| **id == booking.event) {
            sim.common
                .broken(format!("{} is booked, and there is no event", booking.event));
        }
    }
}

/// People read of each appointment that they moved to where another is, and of no other.
fn clashes_are_noted<S, Q>(sim: &Simulator<S, Q>, told: &[Told], journals: &[Journal]) {
    let events = sim.fake_world.events();
    for journal in journals {
        let of_thread = told
            .iter()
            .filter(|(conversation, _)| *conversation.id.thread_id() == journal.thread);
        let notes = of_thread.filter_map(|(conversation, _)| conversation.people.hand_over_note.as_ref());
        let notes: Vec<&str> = notes.map(|note| note.text.as_str()).collect();
        for booking in &journal.bookings {
            let event = &booking.event;
            let is_noted = notes.iter().any(|note| note.contains(&booking.describe_clash()));
            let is_in_the_way = events.get(event).is_some_and(|event| event.is_in_the_way);
            if is_noted != is_in_the_way {
                sim.common.broken(format!(
                    "{event} clashes: {is_in_the_way}, and a note says so: {is_noted}"
                ));
            }
        }
    }
}

/// The cells that are held are those of what is booked, and what a booking lacks of its time another one holds.
fn cells_are_as_booked<S, Q>(sim: &Simulator<S, Q>, journals: &[Journal])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let now = sim.simulation().now();
    for bound in sim.bounds.iter().filter(|bound| !bound.tools.is_empty()) {
        let of_tenant = journals
            .iter()
            .filter(|journal| journal.tenant == bound.tenant.id);
        let booked: Vec<&Booking> = of_tenant.flat_map(|journal| &journal.bookings).collect();
        let named = bound.tools.iter().filter_map(crate::fake_world::calendar_of);
        for calendar in named {
            let span = CellSpan {
                calendar: calendar.name_cell_calendar(),
                start: now,
                end: add_millis(now, 60 * 86_400_000),
            };
            let held = block_on(list_held_cells(&sim.store, &bound.tenant.id, &span));
            let held = held.expect("cells are read");
            let mut wanted = booked.iter().flat_map(|booking| booking.list_own_cells());
            if wanted.any(|cell| !held.contains(&cell)) {
                sim.common.broken("an event does not hold its cells".to_owned());
            }
            for booking in &booked {
                let mut lacked = booking.clash.iter().flat_map(|clash| &clash.cells);
                let is_of_other = |start: &Timestamp| {
                    let mut held = held.iter();
                    held.any(|held| held.cell.start == *start && held.holder != booking.event)
                };
                if let Some(start) = lacked.find(|start| !is_of_other(start)) {
                    let event = &booking.event;
                    sim.common
                        .broken(format!("{event} lacks the slot at {start}, which nobody holds"));
                }
            }
            let is_booked = |cell| {
                let mut booked = booked.iter();
                booked.any(|booking| booking.list_own_cells().contains(cell))
            };
            for cell in held.iter().filter(|cell| !is_booked(cell)) {
                let at = cell.cell.start;
                sim.common.broken(format!("the slot at {at} is held for nothing"));
            }
        }
    }
}
