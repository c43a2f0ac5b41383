//! The outgoing side of a message: `queued → sending → sent | unknown | dead | cancelled`, with
//! `unknown → sent | queued | dead`.
//!
//! Every transition is a method that refuses a transition that is not allowed. The store writes the result on condition
//! that the record still has the revision ([`Outbox::rev`]) from which the transition began. Of several workers only the
//! first one writes.

mod identity_attempt;
mod state;
mod transitions;

use crate::contact::ContactAddress;
use crate::effects::RemindedAppointment;
use crate::ids::{BatchId, ConversationId, Nonce, Ordinal, TokenName};
use crate::invitations::ScheduledInvitation;
use crate::metadata::Metadata;
use crate::millis;
use crate::options::SendOptions;
use crate::rate;
use crate::scheduled::ScheduledId;
use crate::signature::Signature;
use crate::turn::TurnRecord;
pub use identity_attempt::IdentityAttempt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
pub use state::OutboxState;

/// The side that writes an outgoing message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The agent. A takeover cancels its messages that were not sent yet, but for last words.
    Ai,
    /// A person, or a person's system that uses the API.
    Person,
}

/// The reason for which a provider holds a message back that it accepted (Meta's `message_status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeldStatus {
    /// The template's quality is being assessed: the message is released, or fails later.
    #[serde(rename = "held_for_quality_assessment")]
    QualityAssessment,
    /// The template is paused.
    #[serde(rename = "paused")]
    Paused,
}

impl HeldStatus {
    /// Returns the word for the reason, which is the provider's own.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QualityAssessment => "held_for_quality_assessment",
            Self::Paused => "paused",
        }
    }
}

/// An entry in the history of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxHistoryEntry {
    /// Time of the transition.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Name of the new state.
    pub what: String,
    /// Details, such as an error's code and title or a reason. No personal data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Name of the token with which somebody made the transition; `None` if Recado made it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<TokenName>,
}

/// Number of times that a message lets others go before it: after that it waits for a slot as any other.
pub const YIELDS_MAX: u32 = 4;

/// Largest number of history entries: the first one and the newest ones are kept.
const HISTORY_MAX: usize = 40;

/// The position of a message among the parts of a long reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyPart {
    /// Number of the part, counted from 1. Parts have consecutive ordinals.
    pub number: u32,
    /// Number of parts of the reply.
    pub of: u32,
}

/// The outgoing side of a message: its recipient, its state and the history of its attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outbox {
    /// Address of the recipient.
    pub to: ContactAddress,
    /// The side that wrote the message.
    pub author: Author,
    /// State of sending.
    #[serde(flatten)]
    pub state: OutboxState,
    /// Revision, which grows at every write. A write is conditional on the revision that was read.
    #[serde(default)]
    pub rev: u64,
    /// Number of attempts so far; each is counted before it begins.
    #[serde(default)]
    pub attempts: u32,
    /// Epoch of the conversation when the message was committed. If the conversation's epoch has changed since, a message
    /// of the agent is not sent.
    #[serde(default)]
    pub epoch: u64,
    /// Ordinal up to which the message answers the contact.
    #[serde(default)]
    pub covers: Ordinal,
    /// Slot that is reserved under the instance's rate.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub slot: Option<Timestamp>,
    /// Earliest time of the next attempt, as the provider or the backoff demands. A wake-up job that comes earlier sends
    /// nothing.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Number of times that the message let others go before it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub yielded: u32,
    /// Time before which the message is not overdue, because its instance cannot send. `reconcile` looks at it again
    /// then.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub look_at: Option<Timestamp>,
    /// `true` if the contact may have the message already. It was queued again after an attempt of unknown outcome, or for the attempt by
    /// the linked identity.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub maybe_sent: bool,
    /// `true` if the message was open in a backup from which the installation was restored: an attempt that no record shows may
    /// have sent it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
    /// The attempt by the recipient's linked identity; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_attempt: Option<IdentityAttempt>,
    /// `true` if the agent handed the conversation over, or resolved it, with this message. A takeover does not cancel it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last_words: bool,
    /// `true` if the message went to the simulated provider.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// Why the provider holds the message back, as its answer to the last send said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldStatus>,
    /// `true` if the dead letter was created, or was deleted by an operator since: nothing remains to be done for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
    /// Transitions so far, the oldest first; see [`OutboxHistoryEntry`].
    #[serde(default)]
    pub history: Vec<OutboxHistoryEntry>,
    /// The turn that wrote the message; `None` if the message is not a reply of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnRecord>,
    /// Position of the message among the parts of the reply; `None` if the reply is a single message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<ReplyPart>,
    /// The scheduled message from which this message was made when it fell due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<ScheduledId>,
    /// The batch of invitations to which the message belongs. It is not sent while the batch is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchId>,
    /// The invitation that the message is: whether it may leave is asked again before each attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<Box<ScheduledInvitation>>,
    /// Metadata that the client attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Options that the client set.
    #[serde(default, skip_serializing_if = "SendOptions::is_empty")]
    pub options: SendOptions,
    /// Time from which the message is of no use. If it has not left by then, it is cancelled.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The appointment of which the message reminds. If the contact does not have it any more, the message is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminds_of: Option<RemindedAppointment>,
    /// The signature that goes out with the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
    /// Time of the contact's last message as known at the commit. While the service window after this time is open, the
    /// conversation need not be read again.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub last_inbound_at: Option<Timestamp>,
    /// The person's conversations under linked identities. Messages that were stored there earlier are sent before this
    /// message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<ConversationId>,
}

/// The error for a transition that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {from} message cannot become {to}")]
pub struct InvalidTransition {
    /// Name of the state that the message is in.
    pub from: &'static str,
    /// Name of the state that was asked for.
    pub to: &'static str,
}

impl Outbox {
    /// Creates the outbox of a message that was just committed, in state `queued`.
    pub fn new_queued(
        to: ContactAddress,
        author: Author,
        epoch: u64,
        covers: Ordinal,
        at: Timestamp,
    ) -> Self {
        Self {
            to,
            author,
            state: OutboxState::Queued,
            rev: 1,
            attempts: 0,
            epoch,
            covers,
            slot: None,
            not_before: None,
            yielded: 0,
            look_at: None,
            maybe_sent: false,
            restored: false,
            identity_attempt: None,
            last_words: false,
            simulated: false,
            held: None,
            copied: false,
            history: vec![OutboxHistoryEntry {
                at,
                what: "queued".to_owned(),
                why: None,
                by: None,
            }],
            turn: None,
            part: None,
            scheduled: None,
            batch: None,
            invitation: None,
            metadata: None,
            options: SendOptions::default(),
            expires_at: None,
            reminds_of: None,
            signature: None,
            last_inbound_at: None,
            beside: Vec::new(),
        }
    }

    /// Returns `true` if a takeover makes the message void: it is the agent's, and not its last words.
    pub fn yields_to_takeover(&self) -> bool {
        self.author == Author::Ai && !self.last_words
    }

    /// Returns `true` if the message is known to go to a contact who has written: it answers something, or was made after that.
    pub fn follows_contact(&self) -> bool {
        self.last_inbound_at.is_some() || !self.covers.is_zero()
    }

    /// Returns `true` if the message certainly never left: it is queued or cancelled, and no attempt had an unknown
    /// outcome.
    pub fn is_certainly_unsent(&self) -> bool {
        !self.maybe_sent && matches!(self.state, OutboxState::Queued | OutboxState::Cancelled { .. })
    }

    /// Returns the token with which the message was ordered; `None` for the agent's messages.
    pub fn ordered_by(&self) -> Option<&TokenName> {
        self.history.first()?.by.as_ref()
    }

    /// Returns `true` if `nonce` holds the running attempt.
    pub fn is_held_by(&self, nonce: &Nonce) -> bool {
        matches!(&self.state, OutboxState::Sending { nonce: holder, .. } if holder == nonce)
    }

    /// Returns the time at which the message was given up, if it is dead.
    pub fn failed_at(&self) -> Option<Timestamp> {
        match self.state {
            OutboxState::Dead { at, .. } => Some(at),
            _ => None,
        }
    }

    /// Returns the time at which the newest attempt was claimed.
    pub fn last_claimed_at(&self) -> Option<Timestamp> {
        let claims = self.history.iter().rev();
        claims
            .filter(|step| step.what == "sending")
            .map(|step| step.at)
            .next()
    }

    /// Returns the time at which the newest attempt was claimed, if an earlier one may have reached the provider: a failure may be of
    /// that one. `None`: a failure is of this attempt, whatever the clocks say.
    pub fn repeated_at(&self) -> Option<Timestamp> {
        let is_repeat = self.maybe_sent || self.restored || self.history.len() >= HISTORY_MAX;
        let claims = self.history.iter().filter(|step| step.what == "sending");
        self.last_claimed_at().filter(|_| is_repeat || claims.count() > 1)
    }

    /// Returns the time of the newest state change: a message that was redriven waits since then.
    pub fn last_changed_at(&self) -> Option<Timestamp> {
        self.history.iter().next_back().map(|step| step.at)
    }

    /// Returns the slot if it can still be used at `now`.
    pub fn usable_slot(&self, now: Timestamp) -> Option<Timestamp> {
        self.slot.filter(|slot| !rate::is_slot_missed(*slot, now))
    }

    /// Stores the slot that was reserved for the message.
    pub fn record_slot(&mut self, slot: Timestamp) {
        self.slot = Some(slot);
        self.rev += 1;
    }

    /// Returns `true` if the message lets others go before it: a client sent it, and it answers nobody. After
    /// [`YIELDS_MAX`] times it does no more, unless it belongs to a batch.
    pub fn yields_slot(&self) -> bool {
        let may_yield = self.batch.is_some() || self.yielded < YIELDS_MAX;
        self.author == Author::Person && self.covers.is_zero() && may_yield
    }

    /// Lets others go before the message, until `at`.
    pub fn yield_until(&mut self, at: Timestamp) {
        self.not_before = Some(at);
        self.yielded += 1;
        self.rev += 1;
    }

    /// Notes the invitation that the message is, with its batch and the time from which it is of no use.
    pub fn join_invitation(&mut self, invitation: &ScheduledInvitation) {
        self.batch.clone_from(&invitation.batch);
        self.expires_at = invitation.useful_until;
        self.invitation = Some(Box::new(invitation.clone()));
    }

    /// Holds a `queued` invitation back until `at`. Other messages to the contact do not wait for it.
    pub fn hold_back(&mut self, at: Timestamp) -> Result<(), InvalidTransition> {
        if self.state != OutboxState::Queued {
            return self.refuse_transition("held back");
        }
        self.not_before = Some(at);
        self.look_at = Some(at);
        self.rev += 1;
        Ok(())
    }

    /// Returns `true` while the message is an invitation that is held back.
    pub fn is_held_back(&self, now: Timestamp) -> bool {
        let is_ahead = |at: Option<Timestamp>| at.is_some_and(|at| at > now);
        self.invitation.is_some() && is_ahead(self.not_before) && is_ahead(self.look_at)
    }

    /// Sets the earliest time of the next attempt. It belongs to the transition to `queued` just made, so `rev` does not
    /// grow.
    pub fn delay_until(&mut self, at: Timestamp) {
        self.not_before = Some(at);
    }

    /// Postpones the time at which a `queued` or `unknown` message is overdue. Refused in any other state: the outcome of
    /// a running attempt has to be stored.
    pub fn postpone_overdue(&mut self, until: Timestamp) -> Result<(), InvalidTransition> {
        if !matches!(self.state, OutboxState::Queued | OutboxState::Unknown { .. }) {
            return self.refuse_transition("put off");
        }
        self.look_at = Some(until);
        self.rev += 1;
        Ok(())
    }

    /// Marks the message as having its dead letter.
    pub fn mark_dead_lettered(&mut self) {
        self.copied = true;
        self.rev += 1;
    }
}

/// Returns a hash of `text`, so that texts can be compared and need not be kept.
pub fn hash_text(text: &str) -> String {
    crate::ids::hash_parts(&["text", text.trim()], 16)
}

#[cfg(test)]
mod tests;
