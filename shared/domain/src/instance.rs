//! What is known of an instance at run time: its connection and its rate.

use crate::ids::{ConversationId, InstanceId, MessageId, Nonce};
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Whether messages can be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// As far as known.
    #[default]
    Open,
    /// The provider lost its connection to WhatsApp.
    Closed,
    /// The key or token is missing or was refused.
    NeedsCredentials,
}

impl Connection {
    /// The word for it in records and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::NeedsCredentials => "needs_credentials",
        }
    }
}

/// An instance's run-time record. One that does not exist yet is open and has sent nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceState {
    /// Its connection.
    #[serde(default)]
    pub connection: Connection,
    /// Since when.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When to ask again, while it is not open.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub probe_at: Option<Timestamp>,
    /// How often it was asked in vain; spaces the probes.
    #[serde(default)]
    pub probes: u32,
    /// The rate's theoretical arrival time.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Timestamp>,
    /// Time-outs in a row; two park the instance.
    #[serde(default)]
    pub timeouts: u32,
    /// The model's key is missing or was refused: turns wait.
    #[serde(default)]
    pub llm_needs_credentials: bool,
}

impl InstanceState {
    /// When it is to be asked again.
    pub fn due(&self) -> Option<Timestamp> {
        if self.connection == Connection::Open {
            None
        } else {
            self.probe_at.or(self.since)
        }
    }
}

/// How long a parked conversation waits unless a setting says otherwise, in milliseconds: 72 hours.
pub const PATIENCE_MS: i64 = 72 * 3_600_000;

fn patience() -> i64 {
    PATIENCE_MS
}

impl Parked {
    /// When it is to be looked at even if the instance has not opened: at its time, or when its patience ends.
    pub fn due(&self) -> Timestamp {
        self.not_before
            .unwrap_or_else(|| millis::shift(self.since, self.patience_ms))
    }
}

/// A conversation whose messages wait for the instance (or for a time).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// The instance.
    pub instance: InstanceId,
    /// Whose messages wait.
    pub conversation: ConversationId,
    /// Changes at every parking: who releases removes only what it saw.
    pub version: Nonce,
    /// When it was parked first.
    #[serde(with = "millis")]
    pub since: Timestamp,
    /// Not to be released before.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// How long it waits for its instance, in milliseconds from `since`: the setting as it was at the last parking. In the
    /// record, so that the index knows it too.
    #[serde(default = "patience")]
    pub patience_ms: i64,
}

/// A send that has begun and whose outcome is not stored yet: a `fromMe` webhook that arrives now may be its echo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// The message.
    pub message: MessageId,
    /// The attempt.
    pub nonce: Nonce,
    /// When it was claimed.
    #[serde(with = "millis")]
    pub claimed_at: Timestamp,
    /// When the attempt's lease ends.
    #[serde(with = "millis")]
    pub until: Timestamp,
    /// A hash of the text, to know an unresolved attempt's echo by.
    pub text_hash: String,
    /// The provider's id of the echo that was taken for this attempt's: a note is good for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<String>,
}

/// How far the clocks of two functions may differ.
const SKEW_MS: i64 = 2_000;

/// How long after its repeat an attempt's echo may still come: a hung request goes out within minutes.
const ECHO_MS: i64 = 3_600_000;

/// What came in with `fromMe` and may be an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FromMe<'a> {
    /// The hash of its text.
    pub text_hash: &'a str,
    /// Its id at the provider.
    pub provider_message_id: Option<&'a str>,
    /// When it was written, by the provider's clock where that is known.
    pub written_at: Timestamp,
    /// When it arrived.
    pub received_at: Timestamp,
}

impl InFlight {
    /// How long a note is kept at most, in milliseconds from its claim. Longer than any echo is waited for.
    pub const KEPT_MS: i64 = 3 * 86_400_000;

    /// Whether the attempt was claimed before something that arrived at `received_at`.
    pub fn began_before(&self, received_at: Timestamp) -> bool {
        self.claimed_at <= millis::shift(received_at, SKEW_MS)
    }

    /// Whether `said` is this attempt's echo: it was taken for it before, or it says the same, came after the claim and
    /// was written while the request may still have gone out. An attempt is repeated at the earliest `unknown_wait_ms`
    /// after its claim.
    pub fn echoes(&self, said: FromMe<'_>, unknown_wait_ms: i64) -> bool {
        if let Some(echo) = &self.echo {
            return said.provider_message_id == Some(echo);
        }
        let last = millis::shift(self.claimed_at, unknown_wait_ms.saturating_add(ECHO_MS));
        self.text_hash == said.text_hash && self.began_before(said.received_at) && said.written_at <= last
    }
}

#[cfg(test)]
mod tests;
