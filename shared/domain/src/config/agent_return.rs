//! The setting that says when the agent answers again in a conversation that people took over.

use super::Instance;
use serde::{Deserialize, Serialize};

/// Longest time after which the agent may come back: 30 days.
const MINUTES_MAX: u32 = 30 * 24 * 60;

/// The time at which the agent answers again after people took a conversation over: `never`, `at_resolve`, or
/// `{"after_minutes": 30}` after the last message of a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(example = "at_resolve"))]
#[serde(rename_all = "snake_case")]
pub enum AgentReturn {
    /// Never by itself: people also have the conversations that follow, until they give one back.
    Never,
    /// With the conversation that follows when this one is resolved.
    #[default]
    AtResolve,
    /// As many minutes (1 to 43,200) after the takeover or the last message of a person, whichever is later. The conversation that
    /// follows is the agent's, too, as with `at_resolve`.
    AfterMinutes(u32),
}

impl AgentReturn {
    /// Returns `true` if this is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Instance {
    /// Checks the time after which the agent comes back.
    pub(super) fn check_agent_return(&self) -> Result<(), &'static str> {
        match self.agent_returns {
            AgentReturn::AfterMinutes(minutes) if !(1..=MINUTES_MAX).contains(&minutes) => {
                Err("agent_returns: after_minutes must be between 1 and 43200 (30 days)")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_is_written_as_the_documentation_says() {
        for (text, meant) in [
            (r#""never""#, AgentReturn::Never),
            (r#""at_resolve""#, AgentReturn::AtResolve),
            (r#"{"after_minutes":30}"#, AgentReturn::AfterMinutes(30)),
        ] {
            let read: AgentReturn = serde_json::from_str(text).unwrap();
            assert_eq!(
                (read, serde_json::to_string(&read).unwrap().as_str()),
                (meant, text)
            );
        }
        assert!(AgentReturn::AtResolve.is_default() && !AgentReturn::Never.is_default());
        assert!(serde_json::from_str::<AgentReturn>(r#""sometimes""#).is_err());
    }
}
