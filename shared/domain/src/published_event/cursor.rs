use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A place in the log of published events: behind the event of this number. Events that are published later have higher numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventCursor(pub u64);

impl EventCursor {
    /// The place before every event.
    pub const START: Self = Self(0);
}

/// The error for a text that is no cursor of the log of published events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no cursor that a list of events gave")]
pub struct CursorError;

/// The digits of the largest number of an event.
const DIGITS_MAX: usize = 19;

impl FromStr for EventCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let is_written =
            (1..=DIGITS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_written);
        number
            .filter(|number| i64::try_from(*number).is_ok())
            .map(Self)
            .ok_or(CursorError)
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
