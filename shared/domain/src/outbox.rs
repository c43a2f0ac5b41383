//! The way out: `queued → sending → sent | unknown | dead | cancelled`, with `unknown → sent | queued | dead`.
//!
//! Every transition is a method that refuses what is not allowed. The store writes the result on condition that the
//! record is still the one the transition began from ([`Outbox::rev`]): whoever lost that race writes nothing more.

mod state;

use crate::contact::ContactAddress;
use crate::ids::{ConversationId, Nonce, Ordinal};
use crate::metadata::Metadata;
use crate::millis::{self, shift};
use crate::options::SendOptions;
use crate::rate;
use crate::reason::Reason;
use crate::scheduled::ScheduledId;
use crate::turn::TurnNote;
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
pub struct Step {
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
pub struct Part {
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
    pub history: Vec<Step>,
    /// The turn that it came from, for an agent's reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnNote>,
    /// Which part of the reply it is, if that takes several messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
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
pub struct Refused {
    /// The state it is in.
    pub from: &'static str,
    /// The state asked for.
    pub to: &'static str,
}

impl Outbox {
    /// A message just committed.
    pub fn queued(to: ContactAddress, author: Author, epoch: u64, covers: Ordinal, at: Timestamp) -> Self {
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
            history: vec![Step {
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

    fn become_(&mut self, state: OutboxState, at: Timestamp, why: Option<String>) {
        let step = Step {
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

    fn refused<T>(&self, to: &'static str) -> Result<T, Refused> {
        Err(Refused {
            from: self.state.as_str(),
            to,
        })
    }

    /// Whether it certainly never left: no attempt of unknown outcome.
    pub fn never_left(&self) -> bool {
        !self.maybe_sent && matches!(self.state, OutboxState::Queued | OutboxState::Cancelled { .. })
    }

    /// `queued → sending`: one attempt more, held by `nonce` until `lease_until`.
    pub fn claim(&mut self, nonce: Nonce, now: Timestamp, lease_until: Timestamp) -> Result<(), Refused> {
        if self.state != OutboxState::Queued {
            return self.refused("sending");
        }
        self.attempts += 1;
        self.look_at = None;
        self.become_(
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
    pub fn explain(&mut self, why: &str) {
        if let Some(step) = self.history.last_mut() {
            step.why = Some(why.to_owned());
        }
    }

    /// Whether `nonce` holds the running attempt.
    pub fn held_by(&self, nonce: &Nonce) -> bool {
        matches!(&self.state, OutboxState::Sending { nonce: holder, .. } if holder == nonce)
    }

    /// `sending → queued`: the attempt did not reach the provider (`counted`: it did, and failed in a way that may
    /// pass). The slot is given up with a counted attempt.
    pub fn put_back(&mut self, now: Timestamp, counted: bool, why: &str) -> Result<(), Refused> {
        if !matches!(self.state, OutboxState::Sending { .. }) {
            return self.refused("queued");
        }
        if !counted {
            self.attempts = self.attempts.saturating_sub(1);
        }
        self.slot = None;
        self.become_(OutboxState::Queued, now, Some(why.to_owned()));
        Ok(())
    }

    /// `sending → unknown`: the outcome was not learnt.
    pub fn lose_track(&mut self, now: Timestamp, why: &str) -> Result<(), Refused> {
        let OutboxState::Sending {
            nonce, claimed_at, ..
        } = self.state.clone()
        else {
            return self.refused("unknown");
        };
        self.slot = None;
        self.become_(
            OutboxState::Unknown { nonce, claimed_at },
            now,
            Some(why.to_owned()),
        );
        Ok(())
    }

    /// `unknown → queued`: there is no evidence and the wait for it is over. Marked as maybe sent before.
    pub fn repeat(&mut self, now: Timestamp) -> Result<(), Refused> {
        if !matches!(self.state, OutboxState::Unknown { .. }) {
            return self.refused("queued");
        }
        self.maybe_sent = true;
        self.become_(
            OutboxState::Queued,
            now,
            Some("no evidence that it was sent".to_owned()),
        );
        Ok(())
    }

    /// `sending | unknown → sent`; also `queued → sent`, where an earlier attempt turns out to have been sent.
    pub fn accept(&mut self, now: Timestamp, why: Option<String>) -> Result<(), Refused> {
        let may_be_sent = match self.state {
            OutboxState::Sending { .. } | OutboxState::Unknown { .. } => true,
            OutboxState::Queued => self.maybe_sent,
            _ => false,
        };
        if !may_be_sent {
            return self.refused("sent");
        }
        self.become_(OutboxState::Sent { at: now }, now, why);
        Ok(())
    }

    /// Any open state, or `sent` (the provider said so later), `→ dead`.
    pub fn give_up(&mut self, now: Timestamp, reason: Reason, why: Option<String>) -> Result<(), Refused> {
        if matches!(
            self.state,
            OutboxState::Dead { .. } | OutboxState::Cancelled { .. }
        ) {
            return self.refused("dead");
        }
        // Given up with an attempt whose outcome is not known: a redrive repeats it, and must say so.
        self.maybe_sent |= matches!(self.state, OutboxState::Unknown { .. });
        let why = why.map_or_else(|| reason.to_string(), |why| format!("{reason}: {why}"));
        // Clocks differ, and a later death is known by its time.
        let deaths = self.history.iter().filter(|step| step.what == "dead");
        let at = deaths.map(|step| shift(step.at, 1)).fold(now, Ord::max);
        self.become_(OutboxState::Dead { at, reason }, at, Some(why));
        Ok(())
    }

    /// `queued → cancelled`.
    pub fn cancel(&mut self, now: Timestamp, reason: Reason) -> Result<(), Refused> {
        if self.state != OutboxState::Queued {
            return self.refused("cancelled");
        }
        self.become_(
            OutboxState::Cancelled { at: now, reason },
            now,
            Some(reason.to_string()),
        );
        Ok(())
    }

    /// When it died, if it is dead.
    pub fn died(&self) -> Option<Timestamp> {
        match self.state {
            OutboxState::Dead { at, .. } => Some(at),
            _ => None,
        }
    }

    /// `dead → queued`, by a redrive of the death at `died`: with all its attempts again. One that died again since is
    /// left dead.
    pub fn revive(&mut self, now: Timestamp, died: Timestamp) -> Result<(), Refused> {
        if self.died() != Some(died) {
            return self.refused("queued");
        }
        self.attempts = 0;
        self.slot = None;
        self.not_before = None;
        self.look_at = None;
        self.copied = false;
        self.become_(OutboxState::Queued, now, Some("redriven".to_owned()));
        Ok(())
    }

    /// `dead → dead`, of another death, for good: its dead letter was deleted. No redrive of `died` finds it any more.
    pub fn purge(&mut self, now: Timestamp, died: Timestamp) -> Result<(), Refused> {
        if self.died() != Some(died) {
            return self.refused("purged");
        }
        let (reason, at) = (Reason::Purged, now.max(shift(died, 1)));
        self.copied = true;
        self.become_(OutboxState::Dead { at, reason }, now, Some(reason.to_string()));
        Ok(())
    }

    /// When its latest attempt was claimed.
    pub fn claimed_at(&self) -> Option<Timestamp> {
        let claims = self.history.iter().rev();
        claims
            .filter(|step| step.what == "sending")
            .map(|step| step.at)
            .next()
    }

    /// The slot it may still use at `now`.
    pub fn slot_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.slot.filter(|slot| !rate::missed(*slot, now))
    }

    /// Notes the slot that was reserved for it.
    pub fn hold_slot(&mut self, slot: Timestamp) {
        self.slot = Some(slot);
        self.rev += 1;
    }

    /// Puts the next attempt off. Part of the transition that made it `queued`, so `rev` stays.
    pub fn wait_until(&mut self, at: Timestamp) {
        self.not_before = Some(at);
    }

    /// `queued` and `unknown`: puts off when it is overdue. A running attempt is not touched: its outcome is to be stored.
    pub fn put_off(&mut self, until: Timestamp) -> Result<(), Refused> {
        if !matches!(self.state, OutboxState::Queued | OutboxState::Unknown { .. }) {
            return self.refused("put off");
        }
        self.look_at = Some(until);
        self.rev += 1;
        Ok(())
    }

    /// Notes that its dead letter exists.
    pub fn mark_copied(&mut self) {
        self.copied = true;
        self.rev += 1;
    }
}

/// A hash of a text, to compare without keeping it.
pub fn text_hash(text: &str) -> String {
    crate::ids::hash_of(&["text", text.trim()], 16)
}

/// When the lease of an attempt ends that is claimed now.
pub fn lease_end(now: Timestamp, lease_seconds: i64) -> Timestamp {
    shift(now, lease_seconds.saturating_mul(1000))
}

#[cfg(test)]
mod tests;
