//! The record of a turn, kept for later questions about how a reply came about.

use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The record of the turn that wrote a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// Time at which the turn took its lease and asked the model.
    #[serde(with = "millis")]
    pub began_at: Timestamp,
    /// Number of the attempt, counted from 1. The attempts before it crashed or failed.
    pub attempt: u32,
    /// Arrival time of the oldest message that the reply answers.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Timestamp>,
    /// Opening time of the business, if the turn waited for it; else `None`.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub opening: Option<Timestamp>,
}

impl TurnRecord {
    /// Returns the time since which the contact waits: the arrival of the oldest message that the reply answers, or the
    /// opening time if the turn waited for it.
    pub fn answers_since(&self) -> Option<Timestamp> {
        self.opening.or(self.asked_at)
    }
}
