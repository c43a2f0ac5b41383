//! The transitions of an outgoing message. Each refuses a transition that is not allowed.

use super::{HISTORY_MAX, InvalidTransition, Outbox, OutboxHistoryEntry, OutboxState};
use crate::ids::{Nonce, TokenName};
use crate::millis::add_duration;
use crate::reason::Reason;
use jiff::{SignedDuration, Timestamp};

impl Outbox {
    pub(super) fn transition_to(&mut self, state: OutboxState, at: Timestamp, why: Option<String>) {
        let step = OutboxHistoryEntry {
            at,
            what: state.as_str().to_owned(),
            why,
            by: None,
        };
        if self.history.len() >= HISTORY_MAX {
            self.history.remove(1);
        }
        self.history.push(step);
        self.state = state;
        self.rev += 1;
    }

    pub(super) fn refuse_transition<T>(&self, to: &'static str) -> Result<T, InvalidTransition> {
        Err(InvalidTransition {
            from: self.state.as_str(),
            to,
        })
    }

    /// Moves `queued → sending` and counts an attempt. `nonce` holds the attempt until `lease_until`.
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

    /// Adds an explanation to the newest history entry. It belongs to the transition just made, so `rev` does not grow.
    pub fn explain_last_step(&mut self, why: &str) {
        if let Some(step) = self.history.last_mut() {
            step.why = Some(why.to_owned());
        }
    }

    /// Adds who made the newest transition to its history entry. It belongs to the transition just made, so `rev` does not
    /// grow.
    pub fn sign_last_step(&mut self, by: Option<&TokenName>) {
        if let Some(step) = self.history.last_mut() {
            step.by = by.cloned();
        }
    }

    /// Moves `sending → queued` and gives up the slot. `counted`: the attempt reached the provider and failed with an
    /// error that may pass. If `false`, the attempt did not reach the provider and is not counted.
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

    /// Moves `sending → unknown`: the provider gave no clear answer. The slot is given up.
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

    /// Moves `sending → unknown` after the attempt's lease ended without an outcome.
    pub fn mark_lease_ended(&mut self, now: Timestamp) -> Result<(), InvalidTransition> {
        self.mark_unknown(now, "the attempt's lease ended without an outcome")
    }

    /// Moves `queued | sending → unknown`, because the record comes from a backup made at `taken_at`: the message may have been
    /// sent since. A message of unknown outcome stays so. `nonce` names the attempt that is looked for if none is known.
    pub fn doubt_restored(
        &mut self,
        nonce: Nonce,
        taken_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), InvalidTransition> {
        let (nonce, claimed_at) = match &self.state {
            OutboxState::Queued => (nonce, taken_at),
            OutboxState::Sending {
                nonce, claimed_at, ..
            }
            | OutboxState::Unknown { nonce, claimed_at } => (nonce.clone(), *claimed_at),
            _ => return self.refuse_transition("unknown"),
        };
        self.slot = None;
        self.look_at = None;
        self.restored = true;
        let why = Some("restored from a backup".to_owned());
        self.transition_to(OutboxState::Unknown { nonce, claimed_at }, now, why);
        Ok(())
    }

    /// Moves `unknown → queued`: no evidence was found until the end of the wait. The message is marked as maybe sent
    /// before.
    pub fn requeue_unknown(&mut self, now: Timestamp) -> Result<(), InvalidTransition> {
        if !matches!(self.state, OutboxState::Unknown { .. }) {
            return self.refuse_transition("queued");
        }
        self.maybe_sent = true;
        self.restored = false;
        self.transition_to(
            OutboxState::Queued,
            now,
            Some("no evidence that it was sent".to_owned()),
        );
        Ok(())
    }

    /// Moves `sending | unknown → sent`. Also moves `queued → sent` if [`Outbox::maybe_sent`] is set: an earlier attempt
    /// did arrive.
    pub fn mark_sent(&mut self, now: Timestamp, why: Option<String>) -> Result<(), InvalidTransition> {
        let may_be_sent = match self.state {
            OutboxState::Sending { .. } | OutboxState::Unknown { .. } => true,
            OutboxState::Queued => self.maybe_sent,
            _ => false,
        };
        if !may_be_sent {
            return self.refuse_transition("sent");
        }
        self.close_identity_attempt();
        self.transition_to(OutboxState::Sent { at: now }, now, why);
        Ok(())
    }

    /// Moves any open state to `dead`. Also moves `sent → dead`, because a provider may report a failure later.
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
        // The outcome of the last attempt is unknown. If a redrive repeats the message, it must carry the mark
        // `maybe_sent`.
        self.maybe_sent |= matches!(self.state, OutboxState::Unknown { .. });
        self.close_identity_attempt();
        let why = why.map_or_else(|| reason.to_string(), |why| format!("{reason}: {why}"));
        // A redrive names a failure by its time. Clocks differ, so every later failure gets a later time than the
        // failures before it.
        let deaths = self.history.iter().filter(|step| step.what == "dead");
        let at = deaths
            .map(|step| add_duration(step.at, SignedDuration::from_millis(1)))
            .fold(now, Ord::max);
        self.transition_to(OutboxState::Dead { at, reason }, at, Some(why));
        Ok(())
    }

    /// Moves `queued → cancelled`.
    pub fn mark_cancelled(&mut self, now: Timestamp, reason: Reason) -> Result<(), InvalidTransition> {
        if self.state != OutboxState::Queued {
            return self.refuse_transition("cancelled");
        }
        self.close_identity_attempt();
        self.transition_to(
            OutboxState::Cancelled { at: now, reason },
            now,
            Some(reason.to_string()),
        );
        Ok(())
    }

    /// Moves `dead → queued` for a redrive of the failure at `failed_at`; the message gets all its attempts again. Refused if
    /// its newest failure has another time.
    pub fn requeue_dead(&mut self, now: Timestamp, failed_at: Timestamp) -> Result<(), InvalidTransition> {
        if self.failed_at() != Some(failed_at) {
            return self.refuse_transition("queued");
        }
        self.attempts = 0;
        self.restored = false;
        self.slot = None;
        self.not_before = None;
        self.look_at = None;
        self.copied = false;
        self.transition_to(OutboxState::Queued, now, Some("redriven".to_owned()));
        Ok(())
    }

    /// Gives a dead message the reason [`Reason::Purged`] and a later time, because its dead letter was deleted. A
    /// redrive of the failure at `failed_at` is refused from then on.
    pub fn purge_dead(&mut self, now: Timestamp, failed_at: Timestamp) -> Result<(), InvalidTransition> {
        if self.failed_at() != Some(failed_at) {
            return self.refuse_transition("purged");
        }
        let (reason, at) = (
            Reason::Purged,
            now.max(add_duration(failed_at, SignedDuration::from_millis(1))),
        );
        self.copied = true;
        self.transition_to(OutboxState::Dead { at, reason }, now, Some(reason.to_string()));
        Ok(())
    }
}
