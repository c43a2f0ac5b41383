//! Meta refuses nothing because a contact's 24 hours are over, nothing is given up for that while they are
//! not, and nobody is asked back twice.

use super::Told;
use super::persons::Persons;
use crate::fake_world::Arrived;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use jiff::SignedDuration;
use recado_domain::Timestamp;
use recado_domain::ids::{MessageId, ThreadId};
use recado_domain::message::{Message, Role};
use recado_domain::millis::{add_duration, add_millis, to_millis};
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_domain::service_window::{WINDOW, is_window_open, opens_window};
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// How long it may take until what is read as stored can be read by others: a worker may stall on the way, and clocks differ.
const UNTIL_KNOWN: SignedDuration = SignedDuration::from_mins(5);

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    for id in sim.fake_world.refused() {
        sim.common
            .broken(format!("{id} was refused: the contact's window was over"));
    }
    once_a_day(sim, told);
    for message in told.iter().flat_map(|(_, messages)| messages) {
        if let Some(at) = given_up(message)
            && known_open(told, message.conversation.thread_id(), at)
        {
            sim.common
                .broken(format!("{} was given up inside the window", message.message_id()));
        }
    }
}

/// How much closer two templates to one contact may come than a day: the first may have gone out long after that was
/// decided.
const DELAYED_MS: i64 = 3_600_000;

/// A contact is asked back once a day, however many messages wait for it.
fn once_a_day<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let left = |id: &MessageId| {
        let mut all = told.iter().flat_map(|(_, messages)| messages);
        all.find(|message| message.message_id() == *id)
            .and_then(|message| message.out.as_ref())
            .is_some_and(|out| matches!(out.state, OutboxState::Sent { .. }))
    };
    let persons = Persons::of(sim, told);
    // Nobody knew that both are of one person's threads.
    let are_apart = |one: &Arrived, other: &Arrived| {
        let (Ok((one_of, _)), Ok((other_of, _))) = (
            one.message.conversation_and_ordinal(),
            other.message.conversation_and_ordinal(),
        ) else {
            return false;
        };
        let joined = persons.joined_ms(&one_of);
        one_of.thread_id() != other_of.thread_id()
            && joined.is_none_or(|joined| joined + DELAYED_MS > one.at_ms)
    };
    for arrived in sim.fake_world.phones().values() {
        let templates = arrived
            .iter()
            .filter(|one| one.text.starts_with("[template") && left(&one.message));
        let mut before: Option<&Arrived> = None;
        for one in templates {
            if before.is_some_and(|before| {
                before.message != one.message
                    && one.at_ms - before.at_ms < to_millis(WINDOW) - DELAYED_MS
                    && !are_apart(one, before)
            }) {
                sim.common
                    .broken(format!("{} asks the contact back again", one.message));
            }
            before = Some(one);
        }
    }
}

/// When it was given up because the window was over.
fn given_up(message: &Message) -> Option<Timestamp> {
    match message.out.as_ref()?.state {
        OutboxState::Dead {
            at,
            reason: Reason::WindowClosed,
        } => Some(at),
        _ => None,
    }
}

/// Whether the contact had written so late, and so long before, that the sender must have known.
fn known_open(told: &[Told], thread: &ThreadId, at: Timestamp) -> bool {
    let of_contact = told
        .iter()
        .filter(|(conversation, _)| conversation.id.thread_id() == thread)
        .flat_map(|(_, messages)| messages)
        .filter(|message| message.role == Role::User && opens_window(&message.content));
    let mut known = of_contact.filter(|message| add_duration(message.stored_at, UNTIL_KNOWN) < at);
    known.any(|message| is_window_open(Some(message.written_at), add_millis(at, 5_000)))
}
