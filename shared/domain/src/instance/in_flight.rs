//! In-flight sends: notes of sends whose outcome the provider has not told.

use crate::contact::ContactAddress;
use crate::ids::{MessageId, Nonce};
use crate::millis;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// A send that was begun and whose outcome the provider has not told. A `fromMe` webhook may be its echo. The note is
/// kept even when other evidence (such as an echo) shows the outcome, and when the message is given up, because the
/// request may still go out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlightSend {
    /// The message that is sent.
    pub message: MessageId,
    /// The address that the message goes to. Messages to other contacts are not concerned.
    pub to: ContactAddress,
    /// The nonce of the attempt.
    pub nonce: Nonce,
    /// Time at which the attempt was claimed.
    #[serde(with = "millis")]
    pub claimed_at: Timestamp,
    /// Time at which the attempt's lease ends.
    #[serde(with = "millis")]
    pub until: Timestamp,
    /// A hash of the text, by which an echo of the unresolved attempt is recognized.
    pub text_hash: String,
    /// The provider's id of the message that was taken for this attempt's echo. At most one message is recorded here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<String>,
    /// The provider's id of a message that may be this attempt's echo. The message came in a chat whose contact is not
    /// certain, so it says nothing about the attempt's outcome. At most one message is recorded here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maybe_echo: Option<String>,
}

/// The certainty with which a message is an attempt's echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// The message has the same text and is in the same contact's chat.
    Sure,
    /// The message has the same text, but nobody knows whether its chat is that contact's.
    Maybe,
}

/// Greatest difference between the clocks of two functions.
const SKEW: SignedDuration = SignedDuration::from_secs(2);

/// Time for which an attempt's echo may still come after the attempt was repeated. A hung request goes out within
/// minutes.
const ECHO_WAIT: SignedDuration = SignedDuration::from_hours(1);

/// Greatest lag of the provider's clock behind Recado's at which an echo is recognized. A message with an older time was
/// written before the attempt.
const CLOCK_LAG_MAX: SignedDuration = SignedDuration::from_mins(2);

/// A message with `fromMe` that may be an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnMessageEcho<'a> {
    /// The address of the chat that the message is in.
    pub address: &'a ContactAddress,
    /// The same person's identity without a number, if the webhook shows it beside the number.
    pub numberless_identity: Option<&'a ContactAddress>,
    /// The hash of the message's text.
    pub text_hash: &'a str,
    /// The provider's message id.
    pub provider_message_id: Option<&'a str>,
    /// Time at which the message was written, by the provider's clock if known.
    pub written_at: Timestamp,
    /// Time at which the message arrived.
    pub received_at: Timestamp,
}

impl InFlightSend {
    /// Longest time for which a note is kept, from its claim: 3 days. No echo is waited for that long.
    pub const RETENTION: SignedDuration = SignedDuration::from_hours(3 * 24);

    /// Returns `true` if the attempt was claimed before a message arrived at `received_at`, within the clocks'
    /// difference.
    pub fn was_claimed_before(&self, received_at: Timestamp) -> bool {
        self.claimed_at <= millis::add_duration(received_at, SKEW)
    }

    /// Returns `true` if the send may go to this contact: an address, and the same person's identity without a number
    /// (`also`).
    pub fn may_be_addressed_to(&self, address: &ContactAddress, also: Option<&ContactAddress>) -> bool {
        match also {
            Some(also) if self.to.is_numberless() => self.to == *also || self.to == *address,
            _ => self.to.may_be_same_person(address),
        }
    }

    /// Returns `true` if the send certainly goes to this contact. If one side is a phone number and the other an
    /// identity without a number, that is not certain, unless `also` is the send's address.
    fn is_to(&self, address: &ContactAddress, also: Option<&ContactAddress>) -> bool {
        let is_known = self.to.is_numberless() == address.is_numberless() || also == Some(&self.to);
        is_known && self.may_be_addressed_to(address, also)
    }

    /// Decides whether `said` is this attempt's echo; `None` if it is not. It is an echo if it was taken for this
    /// attempt's echo before. It is also an echo if it has the same text to the same contact, arrived after the claim,
    /// and was written while the request may have gone out. An attempt is repeated at the earliest `unknown_wait`
    /// after its claim.
    pub fn matches_echo(&self, said: OwnMessageEcho<'_>, unknown_wait: SignedDuration) -> Option<Echo> {
        if let Some(before) = self.taken_as(said.provider_message_id) {
            return Some(before);
        }
        let first = millis::add_duration(self.claimed_at, -CLOCK_LAG_MAX);
        let last = millis::add_duration(self.claimed_at, unknown_wait.saturating_add(ECHO_WAIT));
        let says_it = self.text_hash == said.text_hash
            && self.was_claimed_before(said.received_at)
            && (first..=last).contains(&said.written_at);
        let (echo, taken) = if self.is_to(said.address, said.numberless_identity) {
            (Echo::Sure, self.echo.is_some())
        } else {
            (Echo::Maybe, self.maybe_echo.is_some())
        };
        (says_it && !taken && self.may_be_addressed_to(said.address, said.numberless_identity))
            .then_some(echo)
    }

    /// Returns the certainty with which the message of this id was taken for an echo before. `None`: it was not taken
    /// for an echo.
    pub fn taken_as(&self, provider_message_id: Option<&str>) -> Option<Echo> {
        let id = provider_message_id?;
        if self.echo.as_deref() == Some(id) {
            return Some(Echo::Sure);
        }
        (self.maybe_echo.as_deref() == Some(id)).then_some(Echo::Maybe)
    }
}

#[cfg(test)]
mod tests;
