//! Tells the model how to read messages that others than the agent wrote for the business.

use crate::Deps;
use crate::hooks::turn_part::TurnPart;
use crate::steps::turn::LeasedTurn;
use crate::steps::turn::reading::{TurnReading, reached_contact};
use async_trait::async_trait;
use recado_domain::message::Role;
use recado_ports::ports::LlmRequest;

/// The messages of people and of other agents.
#[derive(Debug)]
pub struct OtherAuthors;

#[async_trait]
impl TurnPart for OtherAuthors {
    async fn add_to_request(&self, _deps: &Deps, turn: &mut LeasedTurn<'_>, request: &mut LlmRequest) {
        if reads_person(&turn.reading) {
            request.instructions.push(PERSON_INSTRUCTIONS.to_owned());
        }
        if reads_other_agent(&turn.reading) {
            request.instructions.push(OTHER_AGENT_INSTRUCTIONS.to_owned());
        }
    }
}

/// Instructions for a model that reads messages of another program.
const OTHER_AGENT_INSTRUCTIONS: &str = "In this conversation, messages that begin with [other agent] were written by \
    another automatic agent of the business, which answered the contact before you. Go on from what it said. Do not greet the \
    contact again. Never write [other agent] yourself.";

/// Instructions for a model that reads messages of a person.
const PERSON_INSTRUCTIONS: &str = "In this conversation, messages that begin with [person] were written by a \
    colleague of yours, a person of the team. Go on from what they said, and keep what they promised. Do not greet the contact \
    again. Never write [person] yourself.";

/// Returns `true` if a turn reads a message that a person of the business wrote.
fn reads_person(reading: &TurnReading) -> bool {
    let mut chosen = reading.conversations().flat_map(TurnReading::chosen_messages);
    chosen.any(|message| {
        message.role == Role::Operator && !message.context.by_other_agent && reached_contact(message)
    })
}

/// Returns `true` if a turn reads a message that another program wrote.
fn reads_other_agent(reading: &TurnReading) -> bool {
    let mut chosen = reading.conversations().flat_map(TurnReading::chosen_messages);
    chosen.any(|message| message.context.by_other_agent)
}
