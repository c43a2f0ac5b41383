//! Holders of contacts' threads. A provider may give a thread to one program at a time, for example to Meta's own agent.

use crate::millis::{self, add_duration};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Time without a message of the contact after which nobody holds a thread any more: 24 hours, says Meta's page "Thread Control".
pub const HOLD_ENDS_AFTER: SignedDuration = SignedDuration::from_hours(24);

/// Greatest length of a role that is stored.
const ROLE_MAX: usize = 40;

/// The holder of the thread, as far as an event shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadControl {
    /// The thread is ours.
    Ours,
    /// The thread was passed to us: what the contact wrote to the other program waits for our answer.
    PassedToUs,
    /// Another program holds the thread. Its role, as the provider names it, if it does.
    Held(Option<String>),
}

/// The newest known holder of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadHold {
    /// The role of the other program that holds the thread; `None` while the thread is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Time of the event that showed this, by the provider's clock. What older events show is outdated.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// `true` if the agent had the conversation before: it has it again once the thread is ours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_agent: bool,
}

impl ThreadHold {
    /// Returns the role of the other program, if it holds the thread at `now`. `wrote_at` is the time of the contact's last message.
    pub fn holder(&self, wrote_at: Option<Timestamp>, now: Timestamp) -> Option<&str> {
        let since = wrote_at.map_or(self.at, |wrote_at| wrote_at.max(self.at));
        let lasts = add_duration(since, HOLD_ENDS_AFTER) > now;
        self.by.as_deref().filter(|_| lasts)
    }
}

/// The role of a program of which the provider tells none.
const UNNAMED: &str = "another_program";

/// Returns the role as it is stored: its letters, digits and underscores.
pub(crate) fn clean_role(role: Option<&str>) -> String {
    let is_fine = |character: &char| character.is_ascii_alphanumeric() || *character == '_';
    let clean: String = role
        .unwrap_or_default()
        .chars()
        .filter(is_fine)
        .take(ROLE_MAX)
        .collect();
    if clean.is_empty() {
        UNNAMED.to_owned()
    } else {
        clean
    }
}
