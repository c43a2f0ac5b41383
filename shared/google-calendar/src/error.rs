use std::time::Duration;

/// The reasons why a call failed. None holds a text of an event, an address or a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    /// The key is missing or unusable, or Google refused it.
    #[error("the calendar's credential is not accepted: {0}")]
    Credentials(String),
    /// The key is good, and may not do this to this calendar.
    #[error("access to the calendar is refused ({0}): share it with the account of the credential")]
    Forbidden(String),
    /// Nothing happened, and the same request may succeed later.
    #[error("the calendar cannot be asked now: {why}")]
    Unavailable {
        /// Description of the failure.
        why: String,
        /// Time that Google asks to wait.
        after: Option<Duration>,
    },
    /// No clear answer came to a request that acts. It may have been carried out, or may be later.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
    /// There is no such calendar or event (404).
    #[error("the calendar or the event is not there")]
    NotFound,
    /// An event with this id exists, or existed and was deleted (409).
    #[error("an event with this id is there, or was")]
    AlreadyExists,
    /// The event was deleted (410).
    #[error("the event was deleted")]
    Deleted,
    /// The event is no longer in the version that was named (412).
    #[error("the event has changed since it was read")]
    VersionChanged,
    /// Google would refuse the request again.
    #[error("the calendar refused the request: {0}")]
    Refused(String),
}

/// The part of an error that decides about a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Nothing happened. The same request may succeed later.
    Retryable,
    /// Nothing happened. The same request would fail again.
    Permanent,
    /// The request may have been carried out. Only a question settles it.
    Unknown,
}

impl CalendarError {
    /// Returns a failure that may pass.
    pub(crate) fn unavailable(why: impl Into<String>) -> Self {
        Self::Unavailable {
            why: why.into(),
            after: None,
        }
    }

    /// Returns whether the same request may be made again: later, never, or only after the event was looked at.
    pub fn certainty(&self) -> Certainty {
        match self {
            Self::Unavailable { .. } => Certainty::Retryable,
            // A request that came earlier may have done what this one finds done.
            Self::Unknown(_) | Self::AlreadyExists | Self::Deleted | Self::VersionChanged => {
                Certainty::Unknown
            }
            Self::Credentials(_) | Self::Forbidden(_) | Self::NotFound | Self::Refused(_) => {
                Certainty::Permanent
            }
        }
    }
}
