//! Reasons why a message, an event or a reply was given up, left out or is waiting. The list is closed, so that
//! dashboards, runbooks and redrive filters can rely on it.

use serde::{Deserialize, Serialize};
use std::fmt;
use strum::IntoStaticStr;

/// The reason why a message, an event or a reply was given up, left out or is waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Reason {
    /// All attempts were used up on errors that might have passed.
    MaxRetriesExceeded,
    /// The provider refused the message permanently, or reported later that it failed.
    WhatsappPermanentError,
    /// The instance was disconnected for longer than messages are kept waiting.
    InstanceDisconnected,
    /// The 24-hour service window was closed.
    WindowClosed,
    /// Processing failed or crashed at every attempt.
    Poison,
    /// The event or scheduled message names an instance that is not configured.
    UnknownInstance,
    /// A person took the conversation over before the message was sent.
    TakenOver,
    /// The message was too old when it arrived (`RECADO_STALE_SECONDS`, one hour unless set).
    Stale,
    /// The model failed; the agent's error message was sent in place of a reply.
    ModelFailed,
    /// The outcome of a send could not be learnt, and repeating the send is not allowed.
    UnknownOutcome,
    /// An operator deleted the dead letter.
    Purged,
    /// The contact wrote more than three turns of the agent could read; the rest waits for a person.
    TooMuchToRead,
    /// The agent handed the conversation over, and a person is to answer.
    HandedOver,
    /// The simulated model wrote the reply, and the instance is no longer simulated.
    SimulatedReply,
    /// The instance's access list refuses the contact, so the message began no conversation.
    Blocked,
    /// The message became useless before it could leave. An example is the text that the instance is closed.
    Expired,
    /// The agent wrote the contact as many replies in an hour as its limit allows. The rest waits for a person.
    TooManyTurns,
    /// The contact repeated the same text after each reply, as another program does; the rest waits for a person.
    AnswerLoop,
    /// The agent that the user runs said that nothing is to be answered.
    AgentSilent,
    /// The message only corrects the spelling of a word in the message before it, which is answered.
    SpellingCorrection,
    /// The tenant's agents used as many tokens on this day as its limit allows. The owed answers wait for a person.
    TokenBudget,
    /// The person wants no more messages that nobody asked for.
    OptedOut,
    /// The batch of invitations to which the message belongs was cancelled.
    BatchCancelled,
    /// The carrier refused the e-mail for good.
    EmailRefused,
    /// The sender of the e-mail could not send for longer than messages are kept waiting.
    EmailSenderUnavailable,
    /// Another program holds the contact's thread at the provider, and answers there.
    HeldElsewhere,
    /// The message came in a part of a webhook that Recado does not know.
    UnknownField,
}

impl Reason {
    /// The reasons with which something becomes a dead letter. The others end a message or an answer without one.
    pub const OF_DEAD_LETTERS: [Self; 11] = [
        Self::MaxRetriesExceeded,
        Self::WhatsappPermanentError,
        Self::InstanceDisconnected,
        Self::WindowClosed,
        Self::Poison,
        Self::UnknownInstance,
        Self::UnknownOutcome,
        Self::SimulatedReply,
        Self::HeldElsewhere,
        Self::EmailRefused,
        Self::EmailSenderUnavailable,
    ];

    /// Returns the word that records, logs and the API use.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
