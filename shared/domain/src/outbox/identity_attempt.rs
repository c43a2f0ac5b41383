//! The one attempt by which a message goes to its recipient's linked identity. It follows an attempt for the number that WhatsApp did not
//! acknowledge. If it does not leave or is refused, the message counts as sent as before.

use super::{InvalidTransition, Outbox, OutboxState};
use crate::contact::ContactAddress;
use crate::millis::add_duration;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Time within which the attempt begins. A first message that comes much later surprises more than it helps.
const BEGINS_WITHIN: SignedDuration = SignedDuration::from_mins(15);

/// An attempt by the linked identity. A message has one at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityAttempt {
    /// The recipient's linked identity.
    pub to: ContactAddress,
    /// Provider's id of the attempt for the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// `true` until the outcome is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
}

impl Outbox {
    /// Returns the address that the present attempt goes to: the linked identity in the attempt by it, else the recipient's.
    pub fn attempt_address(&self) -> &ContactAddress {
        let attempt = self.identity_attempt.as_ref();
        attempt
            .filter(|attempt| attempt.pending)
            .map_or(&self.to, |attempt| &attempt.to)
    }

    /// Returns `true` while the attempt by the linked identity waits or runs.
    pub fn is_identity_attempt(&self) -> bool {
        self.identity_attempt
            .as_ref()
            .is_some_and(|attempt| attempt.pending)
    }

    /// Returns `true` if the message waited too long for its attempt by the linked identity.
    pub fn is_identity_attempt_late(&self, now: Timestamp) -> bool {
        let since = self.last_changed_at();
        self.is_identity_attempt() && since.is_some_and(|since| add_duration(since, BEGINS_WITHIN) <= now)
    }

    /// Moves `sent → queued` for the one attempt by `identity`. `before` is the provider's id of the message so far. The message is
    /// marked as maybe sent. Refused if it had such an attempt.
    pub fn begin_identity_attempt(
        &mut self,
        identity: ContactAddress,
        before: Option<String>,
        now: Timestamp,
    ) -> Result<(), InvalidTransition> {
        if !matches!(self.state, OutboxState::Sent { .. }) || self.identity_attempt.is_some() {
            return self.refuse_transition("queued");
        }
        self.identity_attempt = Some(IdentityAttempt {
            to: identity,
            before,
            pending: true,
        });
        self.maybe_sent = true;
        (self.slot, self.not_before, self.look_at) = (None, None, None);
        let why = "not acknowledged: sent once more, to the linked identity".to_owned();
        self.transition_to(OutboxState::Queued, now, Some(why));
        Ok(())
    }

    /// Moves `queued | sending | unknown → sent` without an attempt by the linked identity that arrived: the attempt for the number
    /// counts. The mark that the message may have been sent twice stays only if the outcome of an attempt was unknown.
    pub fn keep_sent(&mut self, now: Timestamp, why: String) -> Result<(), InvalidTransition> {
        if !self.is_identity_attempt() || !self.state.is_open() {
            return self.refuse_transition("sent");
        }
        self.close_identity_attempt();
        self.transition_to(OutboxState::Sent { at: now }, now, Some(why));
        self.maybe_sent = self.history.iter().any(|step| step.what == "unknown");
        Ok(())
    }

    /// Notes that the attempt by the linked identity is over. It belongs to a transition, so `rev` does not grow.
    pub fn close_identity_attempt(&mut self) {
        if let Some(attempt) = &mut self.identity_attempt {
            attempt.pending = false;
        }
    }
}
