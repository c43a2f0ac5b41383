//! In-flight sends: notes of sends whose outcome the provider has not told.

use crate::contact::ContactAddress;
use crate::content::Content;
use crate::identity::IdentityKey;
use crate::ids::{InstanceId, MessageId, Nonce, ThreadId};
use crate::message::{Message, Outgoing};
use crate::millis;
use crate::outbox::{OutboxState, hash_text};
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
    /// The recipient, if the contact was erased. Then the note holds no address, and hashes alone of text and ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased: Option<ErasedRecipient>,
    /// `true` if the attempt was claimed by a clock that ran ahead and was set back since. The right time of the claim is not known.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub is_time_unsure: bool,
}

impl InFlightSend {
    /// Makes the note of the attempt that `message` is in, which sends `content`. `None`: it is in none.
    pub fn of_attempt(message: &Outgoing, content: &Content) -> Option<Self> {
        let OutboxState::Sending {
            nonce,
            claimed_at,
            lease_until,
        } = &message.out.state
        else {
            return None;
        };
        Some(Self {
            message: message.message_id(),
            to: message.out.attempt_address().clone(),
            nonce: nonce.clone(),
            claimed_at: *claimed_at,
            until: *lease_until,
            text_hash: hash_text(&content.render_echo_text()),
            echo: None,
            maybe_echo: None,
            erased: None,
            is_time_unsure: false,
        })
    }

    /// Makes the note of a message that is stored for the first time and is in its first attempt. `None`: it is in none.
    pub fn of_new_message(message: &Message) -> Option<Self> {
        let out = message.out.as_ref()?;
        if !matches!(out.state, OutboxState::Sending { .. }) {
            return None;
        }
        let message = message.clone().into_outgoing()?;
        Self::of_attempt(&message, &message.content_as_sent())
    }
}

/// The recipient of a send whose contact was erased: enough to recognize an echo, and nothing of the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedRecipient {
    /// The ids of the person's threads, which are keyed hashes.
    pub threads: Vec<String>,
    /// `true` if the address was an identity without a number.
    pub is_numberless: bool,
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
    /// The present time.
    pub now: Timestamp,
    /// The same in keyed hashes. `None` if no note of an erased contact is compared.
    pub hashed: Option<&'a HashedEcho>,
}

/// What a message with `fromMe` is compared by with notes of erased contacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashedEcho {
    threads: Vec<ThreadId>,
    text_hash: String,
    provider_message_id: Option<String>,
}

impl HashedEcho {
    /// Hashes what `said` says with the installation's key.
    pub fn from_echo(key: &IdentityKey, instance: &InstanceId, said: &OwnMessageEcho<'_>) -> Self {
        let names = [Some(said.address), said.numberless_identity];
        let thread = |name: &ContactAddress| key.derive_thread_id(instance, name.as_str());
        Self {
            threads: names.into_iter().flatten().map(thread).collect(),
            text_hash: key.hash_echo(said.text_hash),
            provider_message_id: said.provider_message_id.map(|id| key.hash_echo(id)),
        }
    }
}

impl InFlightSend {
    /// Longest time for which a note is kept, from its claim: 3 days. No echo is waited for that long.
    pub const RETENTION: SignedDuration = SignedDuration::from_hours(3 * 24);

    /// Returns `true` if the attempt may have been claimed before a message arrived at `received_at`, within the clocks'
    /// difference.
    pub fn may_be_claimed_before(&self, received_at: Timestamp, now: Timestamp) -> bool {
        self.has_unsure_time(now) || self.claimed_at <= millis::add_duration(received_at, SKEW)
    }

    /// Returns `true` if the claim's time is not known. A time after `now` is of a clock that was set back just now.
    fn has_unsure_time(&self, now: Timestamp) -> bool {
        self.is_time_unsure || self.claimed_at > millis::add_duration(now, SKEW)
    }

    /// Takes out of the note what is of the person. `threads` are all threads of the person.
    #[must_use]
    pub fn erase_recipient(self, key: &IdentityKey, threads: &[ThreadId]) -> Self {
        let hash = |id: String| key.hash_echo(&id);
        Self {
            erased: Some(ErasedRecipient {
                threads: threads.iter().map(|thread| thread.as_str().to_owned()).collect(),
                is_numberless: self.to.is_numberless(),
            }),
            to: ContactAddress::removed(),
            text_hash: key.hash_echo(&self.text_hash),
            echo: self.echo.map(hash),
            maybe_echo: self.maybe_echo.map(hash),
            ..self
        }
    }

    /// Returns `true` if the send may go to this contact: an address, and the same person's identity without a number
    /// (`also`). A send to a contact that was erased goes to nobody.
    pub fn may_be_addressed_to(&self, address: &ContactAddress, also: Option<&ContactAddress>) -> bool {
        match also {
            _ if self.erased.is_some() => false,
            Some(also) if self.to.is_numberless() => self.to == *also || self.to == *address,
            _ => self.to.may_be_same_person(address),
        }
    }

    /// Returns how sure it is that the send goes to the contact of `said`; `None` if it does not. If one side is a phone
    /// number and the other an identity without a number, that is not certain, unless `said` shows the send's address.
    fn matches_contact(&self, said: &OwnMessageEcho<'_>) -> Option<Echo> {
        let (address, also) = (said.address, said.numberless_identity);
        let (is_sure, may_be) = if let Some(erased) = &self.erased {
            let threads = &said.hashed?.threads;
            let is_unsure = erased.is_numberless != address.is_numberless() && also.is_none();
            let is_sure = threads
                .iter()
                .any(|thread| erased.threads.iter().any(|own| own == thread.as_str()));
            (is_sure, is_sure || is_unsure)
        } else {
            let is_known = self.to.is_numberless() == address.is_numberless() || also == Some(&self.to);
            (is_known, self.may_be_addressed_to(address, also))
        };
        may_be.then_some(if is_sure { Echo::Sure } else { Echo::Maybe })
    }

    /// Decides whether `said` is this attempt's echo; `None` if it is not. It is an echo if it was taken for this
    /// attempt's echo before. It is also an echo if it has the same text to the same contact, arrived after the claim,
    /// and was written while the request may have gone out. An attempt is repeated at the earliest `unknown_wait`
    /// after its claim. Where the clock was set back since the claim, no message is too old.
    pub fn matches_echo(&self, said: OwnMessageEcho<'_>, unknown_wait: SignedDuration) -> Option<Echo> {
        if let Some(before) = self.taken_as(&said) {
            return Some(before);
        }
        let first = millis::add_duration(self.claimed_at, -CLOCK_LAG_MAX);
        let last = millis::add_duration(self.claimed_at, unknown_wait.saturating_add(ECHO_WAIT));
        let text_hash = match &self.erased {
            Some(_) => &said.hashed?.text_hash,
            None => said.text_hash,
        };
        let says_it = self.text_hash == text_hash
            && self.may_be_claimed_before(said.received_at, said.now)
            && (said.written_at >= first || self.has_unsure_time(said.now))
            && said.written_at <= last;
        let echo = self.matches_contact(&said)?;
        let taken = match echo {
            Echo::Sure => &self.echo,
            Echo::Maybe => &self.maybe_echo,
        };
        (says_it && taken.is_none()).then_some(echo)
    }

    /// Returns the id of `said` as this note holds it: a note of an erased contact holds a keyed hash.
    pub fn recorded_id<'a>(&self, said: &OwnMessageEcho<'a>) -> Option<&'a str> {
        match &self.erased {
            Some(_) => said.hashed?.provider_message_id.as_deref(),
            None => said.provider_message_id,
        }
    }

    /// Returns the certainty with which `said` was taken for an echo before. `None`: it was not taken for an echo.
    pub fn taken_as(&self, said: &OwnMessageEcho<'_>) -> Option<Echo> {
        let id = self.recorded_id(said)?;
        if self.echo.as_deref() == Some(id) {
            return Some(Echo::Sure);
        }
        (self.maybe_echo.as_deref() == Some(id)).then_some(Echo::Maybe)
    }
}

#[cfg(test)]
mod tests;
