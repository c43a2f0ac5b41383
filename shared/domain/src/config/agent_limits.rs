//! The limits of an agent in one thread, and what the contact is told above them.

use crate::reason::Reason;
use serde::{Deserialize, Serialize};

/// Limits that keep one contact, or another program that answers, from making the agent write without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AgentLimits {
    /// Greatest number of replies to one contact within an hour; 0: no limit.
    pub turns_per_hour: u32,
    /// `true` if the agent stops answering when the contact and its own replies repeat themselves.
    pub end_loops: bool,
    /// The words that the contact gets when a limit is reached, but at a loop.
    pub reply: LimitReply,
    /// The words that the contact gets when the agent stops at a loop; `hand_over_message` if absent.
    pub loop_reply: LimitReply,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            turns_per_hour: 60,
            end_loops: true,
            reply: LimitReply::default(),
            loop_reply: LimitReply::HandOverMessage,
        }
    }
}

impl AgentLimits {
    /// Returns `true` if these are the defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the answer to the contact when the agent pauses for this reason.
    pub fn reply_for(&self, reason: Reason) -> LimitReply {
        if reason == Reason::AnswerLoop {
            self.loop_reply
        } else {
            self.reply
        }
    }
}

/// The answer to the contact when a limit of the agent is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(example = "nothing"))]
#[serde(rename_all = "snake_case")]
pub enum LimitReply {
    /// Nothing.
    #[default]
    Nothing,
    /// The agent's `error_message`, once for each pause.
    ErrorMessage,
    /// The agent's `hand_over_message`, once for each pause.
    HandOverMessage,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_were_stored_without_an_answer_at_a_loop_get_the_usual_one() {
        let stored = r#"{"turns_per_hour":30,"end_loops":true,"reply":"nothing"}"#;
        let limits: AgentLimits = serde_json::from_str(stored).unwrap();
        assert_eq!(limits.turns_per_hour, 30);
        assert_eq!(limits.reply_for(Reason::AnswerLoop), LimitReply::HandOverMessage);
        assert_eq!(limits.reply_for(Reason::TooManyTurns), LimitReply::Nothing);
    }
}
