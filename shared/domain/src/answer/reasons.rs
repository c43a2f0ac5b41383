//! The states of answers, and their reasons.

use serde::{Deserialize, Serialize};

/// The state of the answer to a contact's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnswerState {
    /// The message is answered.
    Answered,
    /// Recado works on the answer, and nobody needs to do anything.
    InWork,
    /// The answer waits: for a person, a time or a setting.
    Waiting,
    /// Nobody owes an answer.
    NotOwed,
    /// The answer was given up: it is a dead letter.
    Failed,
}

/// The reason for the state of an answer. A message has one reason at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnswerReason {
    /// A reply of the agent was sent.
    Replied,
    /// The agent's error message was sent, because the model failed or a limit was reached.
    ErrorMessage,
    /// A reply of the agent may have been sent: its outcome was never learnt, and it is not repeated.
    MaybeReplied,
    /// A person answered.
    Person,
    /// The answer is no longer kept.
    NotKept,
    /// The debounce runs, because more messages may come; or the turn begins.
    Debounce,
    /// A turn drafts the reply.
    Drafting,
    /// The turn waits for a place: the tenant's other turns have all that run at once.
    TurnPlace,
    /// The turn waits for the end of an effect of the agent's tools.
    EffectUnderWay,
    /// The reply is on its way to the contact.
    Sending,
    /// People have the conversation.
    Manual,
    /// The agent has the conversation, but the rest waits for a person.
    NeedsPerson,
    /// The business is closed.
    OutOfHours,
    /// The model's key is missing or was refused.
    ModelKey,
    /// The reply is ready, and the provider has lost the number's connection to WhatsApp.
    InstanceClosed,
    /// The reply is ready, and the provider cannot be reached or the key to send with cannot be read.
    InstanceUnreachable,
    /// The reply is ready, and the key or token to send with is missing or was refused.
    InstanceKey,
    /// The instance is disabled or not configured.
    NoInstance,
    /// The agent of the instance is disabled.
    AgentDisabled,
    /// The message was too old when it arrived.
    Stale,
    /// The message asks for no answer: a reaction, a deletion or a note from WhatsApp; the agent said so (`agent_silent`); or it
    /// only corrects the spelling of a message that is answered (`spelling_correction`).
    NothingToAnswer,
    /// The conversation was resolved.
    Resolved,
    /// The reply was withdrawn before it was sent, and no other is owed.
    Cancelled,
    /// The reply could not be sent: it is a dead letter.
    DeadLetter,
}

impl AnswerReason {
    /// Returns the state that the reason belongs to.
    pub fn state(self) -> AnswerState {
        match self {
            Self::Replied | Self::ErrorMessage | Self::MaybeReplied | Self::Person | Self::NotKept => {
                AnswerState::Answered
            }
            Self::Debounce | Self::Drafting | Self::TurnPlace | Self::EffectUnderWay | Self::Sending => {
                AnswerState::InWork
            }
            Self::Manual
            | Self::NeedsPerson
            | Self::OutOfHours
            | Self::ModelKey
            | Self::InstanceClosed
            | Self::InstanceUnreachable
            | Self::InstanceKey
            | Self::NoInstance
            | Self::AgentDisabled => AnswerState::Waiting,
            Self::Stale | Self::NothingToAnswer | Self::Resolved | Self::Cancelled => AnswerState::NotOwed,
            Self::DeadLetter => AnswerState::Failed,
        }
    }
}
