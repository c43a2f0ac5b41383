//! Meta refuses nothing because a contact's 24 hours are over, and nothing is given up for that while they are not.

use super::Told;
use crate::queue::WorkQueues;
use crate::stage::Stage;
use recado_domain::Timestamp;
use recado_domain::ids::ThreadId;
use recado_domain::message::{Message, Role};
use recado_domain::millis::shift;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_domain::window::{is_open, is_opened_by};
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// How long it may take, in milliseconds, until what is read as stored can be read by others: a worker may stall on the
/// way, and clocks differ.
const UNTIL_KNOWN_MS: i64 = 300_000;

pub(super) fn check<S, Q>(stage: &Stage<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    for id in stage.outside.refused() {
        stage
            .common
            .broken(format!("{id} was refused: the contact's window was over"));
    }
    for message in told.iter().flat_map(|(_, messages)| messages) {
        if let Some(at) = given_up(message)
            && known_open(told, message.conversation.thread(), at)
        {
            stage
                .common
                .broken(format!("{} was given up inside the window", message.id()));
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
        .filter(|(conversation, _)| conversation.id.thread() == thread)
        .flat_map(|(_, messages)| messages)
        .filter(|message| message.role == Role::User && is_opened_by(&message.content));
    let mut known = of_contact.filter(|message| shift(message.stored_at, UNTIL_KNOWN_MS) < at);
    known.any(|message| is_open(Some(message.written_at), shift(at, 5_000)))
}
