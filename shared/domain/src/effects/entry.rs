use super::{CellSpan, EffectId};
use crate::ids::{AgentId, ConversationId, Nonce, Ordinal};
use crate::millis;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum size of the arguments of an effect, in bytes of their JSON.
pub const ARGUMENT_BYTES_MAX: usize = 4_000;

/// Number of attempts to settle an entry after which it is unknown.
pub const SETTLING_TRIES: u32 = 4;

/// Time beside the tool's own that an attempt is left alone.
pub(super) const MARGIN: SignedDuration = SignedDuration::from_secs(5);

/// The state of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EffectState {
    /// The call was begun, and nobody stored how it ended.
    Doing,
    /// The effect happened.
    Done,
    /// The effect did not happen, and will not.
    Failed,
    /// The thing that the effect was about is gone.
    Void,
    /// Nobody could say whether it happened. It is asked for again, and a person may say.
    Unknown,
}

impl EffectState {
    /// Returns the word for the state in records, prompts and the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns whether the effect has not ended yet.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Doing | Self::Unknown)
    }
}

/// An agent's tool, by which an effect is settled after its turn is over.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ToolName {
    /// The agent.
    pub agent: AgentId,
    /// The name of the tool, as the model calls it.
    pub name: String,
}

/// The change that an effect makes outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum EffectAction {
    /// Books an event at a time. The event gets the effect's id.
    Book {
        /// The time.
        span: CellSpan,
    },
    /// Moves a booked event to another time.
    Move {
        /// The event.
        event: EffectId,
        /// The version that was read: the request is refused if the event has another one.
        version: String,
        /// The new time.
        span: CellSpan,
    },
    /// Cancels a booked event.
    Cancel {
        /// The event.
        event: EffectId,
        /// The version that was read.
        version: String,
    },
    /// Does something that holds no time of a calendar.
    Other,
}

/// The entry of one effect in the journal of its thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectEntry {
    /// The number in the journal, from 1.
    pub number: u64,
    /// The id, drawn before the call, which the other side gets.
    pub id: EffectId,
    /// The tool that was called.
    pub tool: ToolName,
    /// The action with what it is about.
    #[serde(flatten)]
    pub action: EffectAction,
    /// The arguments of the model, without secrets.
    pub arguments: Value,
    /// The conversation in which the effect began.
    pub conversation: ConversationId,
    /// The epoch of that conversation then.
    pub epoch: u64,
    /// The ordinal up to which it was answered then.
    pub base: Ordinal,
    /// The cells of `action` that the entry took, by their begin; the others were the event's before.
    #[serde(default, with = "millis::list", skip_serializing_if = "Vec::is_empty")]
    pub takes: Vec<Timestamp>,
    /// The state.
    pub state: EffectState,
    /// The name of the attempt that may store the end.
    pub nonce: Nonce,
    /// Time until which that attempt is left alone.
    #[serde(with = "millis")]
    pub until: Timestamp,
    /// Longest time of the tool's call.
    #[serde(with = "millis::duration")]
    pub limit: SignedDuration,
    /// Number of attempts to settle it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub tries: u32,
    /// Time of the next attempt to settle it, or to remove its fence.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// `true` while a fence may stand outside under the id.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub fence: bool,
    /// Time at which it began.
    #[serde(with = "millis")]
    pub begun_at: Timestamp,
    /// Time at which its end was stored.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The answer of the tool, for the model and people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

impl EffectEntry {
    /// Returns the event that the effect is about; `None` if it is about none.
    pub fn event(&self) -> Option<&EffectId> {
        match &self.action {
            EffectAction::Book { .. } => Some(&self.id),
            EffectAction::Move { event, .. } | EffectAction::Cancel { event, .. } => Some(event),
            EffectAction::Other => None,
        }
    }

    /// Returns the time that the effect gives its event; `None` if it gives none.
    pub fn resulting_span(&self) -> Option<&CellSpan> {
        match &self.action {
            EffectAction::Book { span } | EffectAction::Move { span, .. } => Some(span),
            EffectAction::Cancel { .. } | EffectAction::Other => None,
        }
    }

    /// Returns whether the entry is still what `nonce` claimed, so that its holder may store the end.
    pub fn is_claimed_by(&self, nonce: &Nonce) -> bool {
        self.state.is_open() && self.nonce == *nonce
    }

    /// Returns the time from which no call of the effect can be under way. What the network holds back is not counted.
    pub fn call_over_at(&self) -> Timestamp {
        millis::add_duration(self.begun_at, self.limit.saturating_add(MARGIN))
    }

    /// Returns whether the effect was done for the messages that a reply answers: up to the ordinal `covers`, the oldest of them written
    /// at `asked_at`. The reply knew the effects up to the number `upto`.
    pub fn is_of_turn(
        &self,
        conversation: &ConversationId,
        (upto, covers): (u64, Ordinal),
        asked_at: Timestamp,
    ) -> bool {
        self.conversation == *conversation
            && self.number <= upto
            && self.base < covers
            && self.begun_at >= asked_at
    }

    /// Returns whether it was tried to settle the entry as often as it takes to call it unknown.
    pub fn was_tried_enough(&self) -> bool {
        self.tries >= SETTLING_TRIES
    }

    /// Returns whether at `now` enough of its time is left for one call.
    pub fn has_time_for_call(&self, now: Timestamp) -> bool {
        self.state == EffectState::Doing && millis::add_duration(now, self.limit) <= self.until
    }
}

/// Parts of names of fields whose values are no business of a record.
const SECRET_NAMES: [&str; 8] = [
    "password",
    "passwd",
    "senha",
    "secret",
    "token",
    "authorization",
    "api_key",
    "apikey",
];

/// Returns the arguments with the values of fields replaced whose names say that they are secret.
pub(super) fn remove_secrets(arguments: Value) -> Value {
    match arguments {
        Value::Object(fields) => {
            let cleaned = fields.into_iter().map(|(name, value)| {
                let lower = name.to_lowercase();
                let is_secret = SECRET_NAMES.iter().any(|secret| lower.contains(secret));
                let value = if is_secret {
                    Value::from("[removed]")
                } else {
                    remove_secrets(value)
                };
                (name, value)
            });
            Value::Object(cleaned.collect())
        }
        Value::Array(list) => list.into_iter().map(remove_secrets).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_taken_out_of_arguments_at_any_depth() {
        let given = json!({"day": "monday", "login": [{"userPassword": "x", "name": "Ana"}], "API_KEY": 7});
        let kept = json!({
            "day": "monday", "login": [{"userPassword": "[removed]", "name": "Ana"}], "API_KEY": "[removed]"
        });
        assert_eq!(remove_secrets(given), kept);
    }
}
