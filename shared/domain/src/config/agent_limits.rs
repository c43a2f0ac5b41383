//! The limits of an agent in one thread, and what the contact is told above them.

use serde::{Deserialize, Serialize};

/// Limits that keep one contact, or another program that answers, from making the agent write without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentLimits {
    /// Greatest number of replies to one contact within an hour; 0: no limit.
    pub turns_per_hour: u32,
    /// `true` if the agent stops answering a contact that repeats one text after each reply.
    pub end_loops: bool,
    /// The answer to the contact when a limit is reached.
    pub reply: LimitReply,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            turns_per_hour: 60,
            end_loops: true,
            reply: LimitReply::default(),
        }
    }
}

impl AgentLimits {
    /// Returns `true` if these are the defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The answer to the contact when a limit of the agent is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitReply {
    /// Nothing.
    #[default]
    Nothing,
    /// The agent's `error_message`, once for each pause.
    ErrorMessage,
}
