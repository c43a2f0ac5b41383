//! Notes of sends whose outcome the provider has not told.

use crate::contact::ContactAddress;
use crate::ids::{MessageId, Nonce};
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A send that has begun and whose provider has not told what became of it: a `fromMe` webhook may be its echo. It stays when
/// others tell (evidence, an echo) and when the message is given up, since the request may still go out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlightSend {
    /// The message.
    pub message: MessageId,
    /// To whom it goes: who else gets messages is not concerned.
    pub to: ContactAddress,
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
    /// The provider's id of a message that only may be its echo, as nobody knows whose chat it was in. It tells nothing of
    /// the attempt, and a note is good for one of these, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maybe_echo: Option<String>,
}

/// How sure it is that a message is an attempt's echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// It says the same in the same contact's chat.
    Sure,
    /// It says the same in a chat of which nobody knows whether it is that contact's.
    Maybe,
}

/// How far the clocks of two functions may differ.
const SKEW_MS: i64 = 2_000;

/// How long after its repeat an attempt's echo may still come: a hung request goes out within minutes.
const ECHO_WAIT_MS: i64 = 3_600_000;

/// How far the provider's clock may be behind ours at most, for an echo to be known. Words from before that were written
/// before the attempt.
const CLOCK_LAG_MAX_MS: i64 = 120_000;

/// What came in with `fromMe` and may be an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnMessageEcho<'a> {
    /// In whose chat.
    pub address: &'a ContactAddress,
    /// The same person's identity without a number, where it is shown beside that.
    pub numberless_identity: Option<&'a ContactAddress>,
    /// The hash of its text.
    pub text_hash: &'a str,
    /// Its id at the provider.
    pub provider_message_id: Option<&'a str>,
    /// When it was written, by the provider's clock where that is known.
    pub written_at: Timestamp,
    /// When it arrived.
    pub received_at: Timestamp,
}

impl InFlightSend {
    /// How long a note is kept at most, in milliseconds from its claim. Longer than any echo is waited for.
    pub const RETENTION_MS: i64 = 3 * 86_400_000;

    /// Whether the attempt was claimed before something that arrived at `received_at`.
    pub fn was_claimed_before(&self, received_at: Timestamp) -> bool {
        self.claimed_at <= millis::add_millis(received_at, SKEW_MS)
    }

    /// Whether it may go to whom these name: an address, and the same person's identity without a number.
    pub fn may_be_addressed_to(&self, address: &ContactAddress, also: Option<&ContactAddress>) -> bool {
        match also {
            Some(also) if self.to.is_numberless() => self.to == *also || self.to == *address,
            _ => self.to.may_be_same_person(address),
        }
    }

    /// Whether it certainly goes to whom these name: an identity without a number beside a number tells nothing.
    fn is_to(&self, address: &ContactAddress, also: Option<&ContactAddress>) -> bool {
        let is_known = self.to.is_numberless() == address.is_numberless() || also == Some(&self.to);
        is_known && self.may_be_addressed_to(address, also)
    }

    /// Whether `said` is this attempt's echo: it was taken for it before, or it says the same to the same contact, came
    /// after the claim and was written while the request may have gone out. An attempt is repeated at the earliest
    /// `unknown_wait_ms` after its claim.
    pub fn matches_echo(&self, said: OwnMessageEcho<'_>, unknown_wait_ms: i64) -> Option<Echo> {
        if let Some(before) = self.taken_as(said.provider_message_id) {
            return Some(before);
        }
        let first = millis::add_millis(self.claimed_at, -CLOCK_LAG_MAX_MS);
        let last = millis::add_millis(self.claimed_at, unknown_wait_ms.saturating_add(ECHO_WAIT_MS));
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

    /// As what the message of this id was taken before, if it was.
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
