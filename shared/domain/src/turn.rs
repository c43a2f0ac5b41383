//! What is kept of a turn for those who ask later how a reply came about.

use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How a turn came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// When its lease was taken and the model was asked.
    #[serde(with = "millis")]
    pub began_at: Timestamp,
    /// Which attempt it was, from 1: those before it died or failed.
    pub attempt: u32,
    /// The opening that it waited for, where it waited for one.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub opening: Option<Timestamp>,
}
