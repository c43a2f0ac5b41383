//! The states of an outgoing message.

use crate::ids::Nonce;
use crate::millis;
use crate::reason::Reason;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The state of an outgoing message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "state", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum OutboxState {
    /// Waiting to be sent.
    Queued,
    /// An attempt is running, or its worker crashed.
    Sending {
        /// Nonce of the attempt.
        nonce: Nonce,
        /// Start of the attempt.
        #[serde(with = "millis")]
        claimed_at: Timestamp,
        /// End of the lease. Until then no other worker may judge the attempt.
        #[serde(with = "millis")]
        lease_until: Timestamp,
    },
    /// The request left and the provider gave no clear answer.
    Unknown {
        /// Nonce of the attempt.
        nonce: Nonce,
        /// Start of the attempt; the request did not leave earlier.
        #[serde(with = "millis")]
        claimed_at: Timestamp,
    },
    /// Accepted by the provider.
    Sent {
        /// Time the message was marked as sent.
        #[serde(with = "millis")]
        at: Timestamp,
    },
    /// Given up.
    Dead {
        /// Time of the failure. A later failure of the same message has a later time.
        #[serde(with = "millis")]
        at: Timestamp,
        /// Reason why the message was given up.
        reason: Reason,
    },
    /// Cancelled on purpose before it was sent.
    Cancelled {
        /// Time of the cancellation.
        #[serde(with = "millis")]
        at: Timestamp,
        /// Reason of the cancellation.
        reason: Reason,
    },
}

impl OutboxState {
    /// Returns `true` if the message is queued, being sent or of unknown outcome.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Queued | Self::Sending { .. } | Self::Unknown { .. })
    }

    /// Returns the name of the state in errors and logs.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }
}
