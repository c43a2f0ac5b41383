//! The way out: `queued → sending → sent | unknown | dead | cancelled`, with `unknown → sent | queued | dead`.
//!
//! Every transition is a method that refuses what is not allowed. The store writes the result on condition that the
//! record is still the one the transition began from ([`Outbox::rev`]): whoever lost that race writes nothing more.

mod state;

use crate::contact::ContactAddress;
use crate::ids::{ConversationId, Nonce, Ordinal};
use crate::metadata::Metadata;
use crate::millis::{self, add_millis};
use crate::options::SendOptions;
use crate::rate;
use crate::reason::Reason;
use crate::scheduled::ScheduledId;
use crate::turn::TurnRecord;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
pub use state::OutboxState;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The agent: a takeover stops it.
    Ai,
    /// A person (or their system, by the API).
    Person,
}

/// A line of a message's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxHistoryEntry {
    /// When.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// What happened, in a word: the new state.
    pub what: String,
    /// Details: an error's code and title, a reason; no personal data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How many lines of history are kept: the first and the latest.
const HISTORY_MAX: usize = 40;

/// Which part of a reply a message is, where one message could not hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyPart {
    /// Counted from 1. Parts have consecutive ordinals.
    pub number: u32,
    /// Of how many.
    pub of: u32,
}

/// The outgoing side of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outbox {
    /// To whom.
    pub to: ContactAddress,
    /// Who speaks.
    pub author: Author,
    /// How far it has come.
    #[serde(flatten)]
    pub state: OutboxState,
    /// Grows at every write: the condition of the next.
    #[serde(default)]
    pub rev: u64,
    /// Attempts so far, counted before each.
    #[serde(default)]
    pub attempts: u32,
    /// The conversation's epoch at the commit: another one there stops an AI message.
    #[serde(default)]
    pub epoch: u64,
    /// Up to which ordinal it answers.
    #[serde(default)]
    pub covers: Ordinal,
    /// The rate's slot it holds.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub slot: Option<Timestamp>,
    /// Not to be attempted before: the provider or the backoff asks for it, whoever kicks.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Not overdue before, since its instance cannot send: `reconcile` looks again then.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub look_at: Option<Timestamp>,
    /// An attempt's outcome was never learnt, and it was queued again: the contact may have it already.
    #[serde(default)]
    pub maybe_sent: bool,
    /// It went to the simulated provider.
    #[serde(default)]
    pub simulated: bool,
    /// Whether its dead letter exists.
    #[serde(default)]
    pub copied: bool,
    /// What happened to it.
    #[serde(default)]
    pub history: Vec<OutboxHistoryEntry>,
    /// The turn that it came from, for an agent's reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnRecord>,
    /// Which part of the reply it is, if that takes several messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<ReplyPart>,
    /// The scheduled message that it was before it fell due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<ScheduledId>,
    /// What the client that sent it keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// How it is to be sent.
    #[serde(default, skip_serializing_if = "SendOptions::is_empty")]
    pub options: SendOptions,
    /// When the contact had written last, as far as was known when it was committed: while the window after that is open,
    /// nobody need look again.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<Timestamp>,
    /// The person's conversations under other identities: what was made there before leaves before this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<ConversationId>,
}

/// A transition that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {from} message cannot become {to}")]
pub struct InvalidTransition {
    /// The state it is in.
    pub from: &'static str,
    /// The state asked for.
    pub to: &'static str,
}

impl Outbox {
    /// A message just committed.
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
            look_at: None,
            maybe_sent: false,
            simulated: false,
            copied: false,
            history: vec![OutboxHistoryEntry {
                at,
                what: "queued".to_owned(),
                why: None,
            }],
            turn: None,
            part: None,
            scheduled: None,
            metadata: None,
            options: SendOptions::default(),
            heard_at: None,
            beside: Vec::new(),
        }
    }

    fn transition_to(&mut self, state: OutboxState, at: Timestamp, why: Option<String>) {
        let step = OutboxHistoryEntry {
            at,
            what: state.as_str().to_owned(),
            why,
        };
        if self.history.len() >= HISTORY_MAX {
            self.history.remove(1);
        }
        self.history.push(step);
        self.state = state;
        self.rev += 1;
    }

    fn refuse_transition<T>(&self, to: &'static str) -> Result<T, InvalidTransition> {
        Err(InvalidTransition {
            from: self.state.as_str(),
            to,
        })
    }

    /// Whether it certainly never left: no attempt of unknown outcome.
    pub fn is_certainly_unsent(&self) -> bool {
        !self.maybe_sent && matches!(self.state, OutboxState::Queued | OutboxState::Cancelled { .. })
    }

    /// `queued → sending`: one attempt more, held by `nonce` until `lease_until`.
    pub fn claim_attempt(
        &mut self,
        nonce: Nonce,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<(), InvalidTransition> {
        if self.state != OutboxState::Queued {
            return self.refuse_transition("sending");
        }
        self.attempts += 1;
        self.look_at = None;
        self.transition_to(
            OutboxState::Sending {
                nonce,
                claimed_at: now,
                lease_until,
            },
            now,
            None,
        );
        Ok(())
    }

    /// Says more of what happened last. Part of the transition that made it so, so `rev` stays.
    pub fn explain_last_step(&mut self, why: &str) {
        if let Some(step) = self.history.last_mut() {
            step.why = Some(why.to_owned());
        }
    }

    /// Whether `nonce` holds the running attempt.
    pub fn is_held_by(&self, nonce: &Nonce) -> bool {
        matches!(&self.state, OutboxState::Sending { nonce: holder, .. } if holder == nonce)
    }

    /// `sending → queued`: the attempt did not reach the provider (`counted`: it did, and failed in a way that may
    /// pass). The slot is given up with a counted attempt.
    pub fn return_to_queue(
        &mut self,
        now: Timestamp,
        counted: bool,
        why: &str,
    ) -> Result<(), InvalidTransition> {
        if !matches!(self.state, OutboxState::Sending { .. }) {
            return self.refuse_transition("queued");
        }
        if !counted {
            self.attempts = self.attempts.saturating_sub(1);
        }
        self.slot = None;
        self.transition_to(OutboxState::Queued, now, Some(why.to_owned()));
        Ok(())
    }

    /// `sending → unknown`: the outcome was not learnt.
    pub fn mark_unknown(&mut self, now: Timestamp, why: &str) -> Result<(), InvalidTransition> {
        let OutboxState::Sending {
            nonce, claimed_at, ..
        } = self.state.clone()
        else {
            return self.refuse_transition("unknown");
        };
        self.slot = None;
        self.transition_to(
            OutboxState::Unknown { nonce, claimed_at },
            now,
            Some(why.to_owned()),
        );
        Ok(())
    }

    /// `unknown → queued`: there is no evidence and the wait for it is over. Marked as maybe sent before.
    pub fn requeue_unknown(&mut self, now: Timestamp) -> Result<(), InvalidTransition> {
        if !matches!(self.state, OutboxState::Unknown { .. }) {
            return self.refuse_transition("queued");
        }
        self.maybe_sent = true;
        self.transition_to(
            OutboxState::Queued,
            now,
            Some("no evidence that it was sent".to_owned()),
        );
        Ok(())
    }

    /// `sending | unknown → sent`; also `queued → sent`, where an earlier attempt turns out to have been sent.
    pub fn mark_sent(&mut self, now: Timestamp, why: Option<String>) -> Result<(), InvalidTransition> {
        let may_be_sent = match self.state {
            OutboxState::Sending { .. } | OutboxState::Unknown { .. } => true,
            OutboxState::Queued => self.maybe_sent,
            _ => false,
        };
        if !may_be_sent {
            return self.refuse_transition("sent");
        }
        self.transition_to(OutboxState::Sent { at: now }, now, why);
        Ok(())
    }

    /// Any open state, or `sent` (the provider said so later), `→ dead`.
    pub fn mark_dead(
        &mut self,
        now: Timestamp,
        reason: Reason,
        why: Option<String>,
    ) -> Result<(), InvalidTransition> {
        if matches!(
            self.state,
            OutboxState::Dead { .. } | OutboxState::Cancelled { .. }
        ) {
            return self.refuse_transition("dead");
        }
        // Given up with an attempt whose outcome is not known: a redrive repeats it, and must say so.
        self.maybe_sent |= matches!(self.state, OutboxState::Unknown { .. });
        let why = why.map_or_else(|| reason.to_string(), |why| format!("{reason}: {why}"));
        // Clocks differ, and a later death is known by its time.
        let deaths = self.history.iter().filter(|step| step.what == "dead");
        let at = deaths.map(|step| add_millis(step.at, 1)).fold(now, Ord::max);
        self.transition_to(OutboxState::Dead { at, reason }, at, Some(why));
        Ok(())
    }

    /// `queued → cancelled`.
    pub fn mark_cancelled(&mut self, now: Timestamp, reason: Reason) -> Result<(), InvalidTransition> {
        if self.state != OutboxState::Queued {
            return self.refuse_transition("cancelled");
        }
        self.transition_to(
            OutboxState::Cancelled { at: now, reason },
            now,
            Some(reason.to_string()),
        );
        Ok(())
    }

    /// When it died, if it is dead.
    pub fn failed_at(&self) -> Option<Timestamp> {
        match self.state {
            OutboxState::Dead { at, .. } => Some(at),
            _ => None,
        }
    }

    /// `dead → queued`, by a redrive of the death at `died`: with all its attempts again. One that died again since is
    /// left dead.
    pub fn requeue_dead(&mut self, now: Timestamp, died: Timestamp) -> Result<(), InvalidTransition> {
        if self.failed_at() != Some(died) {
            return self.refuse_transition("queued");
        }
        self.attempts = 0;
        self.slot = None;
        self.not_before = None;
        self.look_at = None;
        self.copied = false;
        self.transition_to(OutboxState::Queued, now, Some("redriven".to_owned()));
        Ok(())
    }

    /// `dead → dead`, of another death, for good: its dead letter was deleted. No redrive of `died` finds it any more.
    pub fn purge_dead(&mut self, now: Timestamp, died: Timestamp) -> Result<(), InvalidTransition> {
        if self.failed_at() != Some(died) {
            return self.refuse_transition("purged");
        }
        let (reason, at) = (Reason::Purged, now.max(add_millis(died, 1)));
        self.copied = true;
        self.transition_to(OutboxState::Dead { at, reason }, now, Some(reason.to_string()));
        Ok(())
    }

    /// When its latest attempt was claimed.
    pub fn last_claimed_at(&self) -> Option<Timestamp> {
        let claims = self.history.iter().rev();
        claims
            .filter(|step| step.what == "sending")
            .map(|step| step.at)
            .next()
    }

    /// The slot it may still use at `now`.
    pub fn usable_slot(&self, now: Timestamp) -> Option<Timestamp> {
        self.slot.filter(|slot| !rate::is_slot_missed(*slot, now))
    }

    /// Notes the slot that was reserved for it.
    pub fn record_slot(&mut self, slot: Timestamp) {
        self.slot = Some(slot);
        self.rev += 1;
    }

    /// Puts the next attempt off. Part of the transition that made it `queued`, so `rev` stays.
    pub fn delay_until(&mut self, at: Timestamp) {
        self.not_before = Some(at);
    }

    /// `queued` and `unknown`: puts off when it is overdue. A running attempt is not touched: its outcome is to be stored.
    pub fn postpone_overdue(&mut self, until: Timestamp) -> Result<(), InvalidTransition> {
        if !matches!(self.state, OutboxState::Queued | OutboxState::Unknown { .. }) {
            return self.refuse_transition("put off");
        }
        self.look_at = Some(until);
        self.rev += 1;
        Ok(())
    }

    /// Notes that its dead letter exists.
    pub fn mark_dead_lettered(&mut self) {
        self.copied = true;
        self.rev += 1;
    }
}

/// A hash of a text, to compare without keeping it.
pub fn hash_text(text: &str) -> String {
    crate::ids::hash_parts(&["text", text.trim()], 16)
}

/// When the lease of an attempt ends that is claimed now.
pub fn compute_lease_end(now: Timestamp, lease_seconds: i64) -> Timestamp {
    add_millis(now, lease_seconds.saturating_mul(1000))
}

#[cfg(test)]
mod tests;
