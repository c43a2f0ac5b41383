//! What a contact is told while the instance is closed.

use super::Conversation;
use crate::config::InstanceConfig;
use crate::ids::Ordinal;
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The wait of a conversation's turn for an opening, and what the contact was told of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpeningWait {
    /// Time of the turn that waits for an opening: the opening, or later if others wait for it, too.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<Timestamp>,
    /// The opening that the turn waits for, while it is scheduled.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<Timestamp>,
    /// Time at which the contact was last told that the instance is closed.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub closed_told_at: Option<Timestamp>,
}

impl Conversation {
    /// Returns the message that the contact is to get at `now`, while the instance is closed. `None`: the instance has none,
    /// or the contact got it in this closure, which lasts until the hours are open at some time.
    pub fn choose_closed_message<'a>(&self, bound: &'a InstanceConfig, now: Timestamp) -> Option<&'a str> {
        let hours = bound.instance.opening_hours.as_ref()?;
        let text = hours.closed_message.as_deref()?.trim();
        let zone = bound.resolve_opening_zone(hours);
        let is_told = self
            .opening
            .closed_told_at
            .is_some_and(|told| !hours.opened_between(told, now, &zone));
        (!is_told).then_some(text)
    }

    /// Records that the contact is told at `at` that the instance is closed. Returns the ordinal of the message, which
    /// answers nothing.
    pub fn commit_closed_message(&mut self, at: Timestamp) -> Ordinal {
        self.opening.closed_told_at = Some(at);
        self.append_message(at)
    }
}
