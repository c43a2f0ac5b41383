//! How far an outgoing message has come.

use crate::ids::Nonce;
use crate::millis;
use crate::reason::Reason;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How far an outgoing message has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum OutboxState {
    /// To be sent.
    Queued,
    /// An attempt is running, or crashed.
    Sending {
        /// Whose attempt.
        nonce: Nonce,
        /// Since when.
        #[serde(with = "millis")]
        claimed_at: Timestamp,
        /// Until when nobody else may conclude anything.
        #[serde(with = "millis")]
        lease_until: Timestamp,
    },
    /// The request left and its outcome was not learnt.
    Unknown {
        /// Whose attempt it was.
        nonce: Nonce,
        /// When the request left, at the earliest.
        #[serde(with = "millis")]
        claimed_at: Timestamp,
    },
    /// Accepted by the provider.
    Sent {
        /// When.
        #[serde(with = "millis")]
        at: Timestamp,
    },
    /// Given up.
    Dead {
        /// When.
        #[serde(with = "millis")]
        at: Timestamp,
        /// Why.
        reason: Reason,
    },
    /// Not sent, on purpose.
    Cancelled {
        /// When.
        #[serde(with = "millis")]
        at: Timestamp,
        /// Why.
        reason: Reason,
    },
}

impl OutboxState {
    /// Whether something remains to be done.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Queued | Self::Sending { .. } | Self::Unknown { .. })
    }

    /// Its name in errors and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending { .. } => "sending",
            Self::Unknown { .. } => "unknown",
            Self::Sent { .. } => "sent",
            Self::Dead { .. } => "dead",
            Self::Cancelled { .. } => "cancelled",
        }
    }
}
