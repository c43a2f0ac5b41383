//! The states of an e-mail, and the outcomes of its attempts.

use crate::ids::Nonce;
use crate::millis;
use crate::reason::Reason;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// The state of an e-mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "email_state", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EmailState {
    /// The e-mail waits to be given to its carrier.
    Queued {
        /// Earliest time of the next attempt.
        #[serde(with = "millis")]
        not_before: Timestamp,
    },
    /// A worker gives it to its carrier, or crashed while it did.
    Sending {
        /// The attempt.
        nonce: Nonce,
        /// Time until which the attempt has it to itself.
        #[serde(with = "millis")]
        lease_until: Timestamp,
    },
    /// The carrier accepted it.
    Sent {
        /// Time of the answer.
        #[serde(with = "millis")]
        at: Timestamp,
        /// The id by which the carrier knows it.
        carrier_id: String,
        /// `true` if the sender is simulated, and so the e-mail went nowhere.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        is_simulated: bool,
    },
    /// The e-mail was given up.
    Dead {
        /// Time at which it was given up.
        #[serde(with = "millis")]
        at: Timestamp,
        /// Reason.
        reason: Reason,
        /// `true` once its dead letter exists.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        copied: bool,
    },
}

impl EmailState {
    /// Returns the word for the state.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }
}

/// The error for a transition that the state of an e-mail does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an e-mail that is {0} does not allow this")]
pub struct InvalidEmailTransition(pub &'static str);

/// A step in the history of an e-mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmailStep {
    /// Time of the step.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Name of the new state.
    pub what: String,
    /// Why, without personal data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The outcome of an attempt that did not end with an acceptance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailedAttempt {
    /// The carrier certainly did not accept it, and may later. It counts as an attempt.
    Refused {
        /// Why.
        why: String,
        /// Time of the next attempt.
        next: Timestamp,
    },
    /// The carrier certainly did not accept it, for a reason that is not the e-mail's. It counts as no attempt.
    Waits {
        /// Why.
        why: String,
        /// Time of the next attempt.
        next: Timestamp,
    },
    /// Nobody knows whether the carrier accepted it.
    Unknown {
        /// Why.
        why: String,
        /// Time of the next attempt, if there may be one.
        next: Timestamp,
    },
}

/// The limits of an e-mail's attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmailLimits {
    /// Greatest number of attempts.
    pub attempts: u32,
    /// Longest time for which it waits for its sender.
    pub patience: SignedDuration,
}
