//! What is known of an instance at run time: its connection and its rate.

use crate::ids::{ConversationId, InstanceId, MessageId, Nonce};
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

mod in_flight;
mod inactivity;

pub use in_flight::{Echo, InFlightSend, OwnMessageEcho};
pub use inactivity::TrafficProfile;

/// Whether messages can be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionStatus {
    /// As far as known.
    #[default]
    Open,
    /// The provider lost its connection to WhatsApp.
    Closed,
    /// The provider itself cannot be reached, or the credential cannot be read.
    Unreachable,
    /// The key or token is missing or was refused.
    NeedsCredentials,
}

impl ConnectionStatus {
    /// The word for it in records and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Unreachable => "unreachable",
            Self::NeedsCredentials => "needs_credentials",
        }
    }
}

/// An instance's run-time record. One that does not exist yet is open and has sent nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceState {
    /// Its connection.
    #[serde(default)]
    pub connection: ConnectionStatus,
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
    /// Time-outs, and attempts that did not reach the provider, in a row; two park the instance. Time-outs of one and the
    /// same message in a row count once.
    #[serde(default)]
    pub timeouts: u32,
    /// The message whose time-out was counted last, if nothing else was counted or accepted since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<MessageId>,
    /// The model's key is missing or was refused: turns wait.
    #[serde(default)]
    pub llm_needs_credentials: bool,
    /// When the provider was asked whose answer the connection is, or took a message.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<Timestamp>,
    /// When a sender last went to ask because the state was old; begins with the first slot.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Timestamp>,
    /// When what waited for it was last released.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Timestamp>,
    /// Since when messages may have been missed: noted when it closes, until what came meanwhile is fetched.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub catch_up_from: Option<Timestamp>,
    /// When what was missed was last fetched without being asked for.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub caught_up_at: Option<Timestamp>,
    /// How its contacts usually write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<TrafficProfile>,
}

/// What an attempt found that got no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnansweredAttempt {
    /// This message's request left, and no answer came in time: the instance hangs, or hangs at this message.
    TimedOut(MessageId),
    /// The provider was not reached.
    Unreached,
}

/// What was seen of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionUpdate {
    /// What it is now.
    pub connection: ConnectionStatus,
    /// When that is stored.
    pub at: Timestamp,
    /// When to ask again. For an open one: to release then what is still waiting.
    pub probe_at: Option<Timestamp>,
    /// When the provider was asked, if this is its answer.
    pub asked_at: Option<Timestamp>,
    /// Whether what waits is released now.
    pub releases_waiting: bool,
}

impl InstanceState {
    /// When it is to be asked again. An open one only where what waits may not
    /// have been released.
    pub fn next_probe_at(&self) -> Option<Timestamp> {
        if self.connection == ConnectionStatus::Open {
            self.probe_at
        } else {
            self.probe_at.or(self.since)
        }
    }

    /// Takes in what was seen; whether the connection was another one before.
    pub fn apply_connection_update(&mut self, seen: &ConnectionUpdate) -> bool {
        let changed = self.connection != seen.connection;
        self.probe_at = seen.probe_at;
        self.confirmed_at = seen.asked_at.or(self.confirmed_at);
        if seen.releases_waiting {
            self.released_at = Some(seen.at);
        }
        if changed {
            if seen.connection != ConnectionStatus::Open {
                self.catch_up_from.get_or_insert(seen.at);
            }
            self.connection = seen.connection;
            self.since = Some(seen.at);
            self.probes = 0;
            self.reset_timeouts();
        } else {
            self.probes = self.probes.saturating_add(1);
        }
        changed
    }

    /// Counts an attempt that got no answer; whether it counts. A message that always times out says nothing of others.
    pub fn count_timeout(&mut self, found: &UnansweredAttempt) -> bool {
        let of = match found {
            UnansweredAttempt::TimedOut(message) => Some(message),
            UnansweredAttempt::Unreached => None,
        };
        let counts = of.is_none() || self.timed_out.as_ref() != of;
        if counts {
            self.timeouts = self.timeouts.saturating_add(1);
            self.timed_out = of.cloned();
        }
        counts
    }

    /// Forgets the attempts that got no answer: the connection changed, or a message was accepted.
    pub fn reset_timeouts(&mut self) {
        self.timeouts = 0;
        self.timed_out = None;
    }

    /// When its being open was last confirmed or asked for.
    pub fn last_checked_at(&self) -> Option<Timestamp> {
        self.confirmed_at.max(self.asked_at)
    }

    /// Whether it says open and nothing confirmed that for `after_ms`. One that was never used is as open as any.
    pub fn is_stale(&self, now: Timestamp, after_ms: i64) -> bool {
        let old = |at: Timestamp| millis::add_millis(at, after_ms) <= now;
        self.connection == ConnectionStatus::Open && self.last_checked_at().is_some_and(old)
    }

    /// Since when messages may have been missed, for all that is known: it was closed, or it is silent. `None` while it
    /// is not open.
    pub fn messages_missing_since(&self) -> Option<Timestamp> {
        let both = [self.catch_up_from, self.inactive_since()];
        let open = self.connection == ConnectionStatus::Open;
        both.into_iter().flatten().min().filter(|_| open)
    }

    /// Since when it is silent against its custom, if it is.
    pub fn inactive_since(&self) -> Option<Timestamp> {
        self.pattern.as_ref().and_then(|pattern| pattern.silent_since)
    }
}

/// How long a parked conversation waits unless a setting says otherwise, in milliseconds: 72 hours.
pub const DEFAULT_PATIENCE_MS: i64 = 72 * 3_600_000;

fn default_patience_ms() -> i64 {
    DEFAULT_PATIENCE_MS
}

impl ParkedConversation {
    /// When it is to be looked at even if the instance has not opened: at its time, or when its patience ends.
    pub fn release_due_at(&self) -> Timestamp {
        self.not_before
            .unwrap_or_else(|| millis::add_millis(self.since, self.patience_ms))
    }
}

/// A conversation whose messages wait for the instance (or for a time).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkedConversation {
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
    #[serde(default = "default_patience_ms")]
    pub patience_ms: i64,
    /// The reply of the agent that waits first, as [`Message::reply_id`] names it: in its group the release's kick stands.
    ///
    /// [`Message::reply_id`]: crate::message::Message::reply_id
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<MessageId>,
}

#[cfg(test)]
mod tests;
