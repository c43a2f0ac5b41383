//! Why something was given up, left out or is waiting: one closed list, so that dashboards, runbooks and redrive
//! filters can rely on it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// All attempts were used up on errors that might have passed.
    MaxRetriesExceeded,
    /// The provider refused the message for good.
    WhatsappPermanentError,
    /// The instance stayed disconnected for longer than messages are kept waiting.
    InstanceDisconnected,
    /// The 24-hour window had closed.
    WindowClosed,
    /// Processing it failed or crashed every time.
    Poison,
    /// The event names an instance that is not configured.
    UnknownInstance,
    /// A person took the conversation over before it was sent.
    TakenOver,
    /// It had been lying too long when it arrived.
    Stale,
    /// The model failed; the agent's error message was sent in its place.
    ModelFailed,
    /// The outcome of a send could not be learnt and repeating it is not allowed.
    UnknownOutcome,
    /// An operator removed it.
    Purged,
    /// More was written than three turns of the agent could read: the rest waits for a person.
    TooMuchToRead,
}

impl Reason {
    /// The word that records, logs and the API use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxRetriesExceeded => "max_retries_exceeded",
            Self::WhatsappPermanentError => "whatsapp_permanent_error",
            Self::InstanceDisconnected => "instance_disconnected",
            Self::WindowClosed => "window_closed",
            Self::Poison => "poison",
            Self::UnknownInstance => "unknown_instance",
            Self::TakenOver => "taken_over",
            Self::Stale => "stale",
            Self::ModelFailed => "model_failed",
            Self::UnknownOutcome => "unknown_outcome",
            Self::Purged => "purged",
            Self::TooMuchToRead => "too_much_to_read",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
