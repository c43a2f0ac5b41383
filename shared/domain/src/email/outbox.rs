//! The outbox of one e-mail: `queued → sending → sent | dead`, with `sending → queued` and `dead → queued`. A transition that is not
//! allowed is refused. The record that holds the outbox is written on condition that nobody changed it since it was read.

mod correction;
mod state;

use super::Email;
use crate::backoff::Backoff;
use crate::config::{EmailSender, RepeatRule};
use crate::ids::{BatchId, CorrelationId, EmailSenderId, Nonce, hash_parts};
use crate::millis::{self, add_duration};
use crate::reason::Reason;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
pub use state::{EmailLimits, EmailState, EmailStep, FailedAttempt, InvalidEmailTransition};

/// Time for which an attempt holds the e-mail: longer than any request to a carrier.
pub const EMAIL_LEASE: SignedDuration = SignedDuration::from_secs(90);

/// Time after which `reconcile` looks for an e-mail whose job may be lost.
const JOB_PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// Longest wait for which the job of an e-mail stays on its queue. After a longer one `reconcile` enqueues another.
pub const EMAIL_JOB_WAIT_MAX: SignedDuration = SignedDuration::from_secs(60);

/// Shortest and longest pause after a carrier was asked too often and named no time, before they are scattered.
const THROTTLE_PAUSE_MIN: SignedDuration = SignedDuration::from_secs(10);
const THROTTLE_PAUSE_MAX: SignedDuration = SignedDuration::from_mins(8);

/// The part of such a pause by which it may be shorter or longer: e-mails of one batch come again one by one.
const THROTTLE_JITTER: f64 = 0.25;

/// Greatest number of steps that are kept: the first one and the newest.
const STEPS_MAX: usize = 30;

/// The outbox of one e-mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmailOutbox {
    /// The sender that carries it.
    pub sender: EmailSenderId,
    /// The state.
    #[serde(flatten)]
    pub state: EmailState,
    /// The e-mail, as every attempt gives it to the carrier. It is removed once it was sent or purged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<Box<Email>>,
    /// Number of attempts; each is counted before it begins.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub attempts: u32,
    /// The first attempt of which nobody knows the outcome: its time, and what its sender was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<UnknownAttempt>,
    /// `true` once an attempt had an unknown outcome: the person may have the e-mail, whatever became of it since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub maybe_sent: bool,
    /// Time since which the e-mail waits for its sender.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub waits_since: Option<Timestamp>,
    /// Time from which on `reconcile` enqueues a job for it; `None` if nothing is left to do.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<Timestamp>,
    /// The batch of invitations that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchId>,
    /// Correlation id of the request.
    pub correlation: CorrelationId,
    /// The event.
    pub history: Vec<EmailStep>,
}

/// An attempt of which nobody knows the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownAttempt {
    /// Time at which the attempt began.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Hash of the sender: only the same one recognizes a repeat.
    pub sender: String,
}

/// Returns a hash of what makes a sender recognize its e-mails: carrier, credential and address.
fn hash_sender(sender: &EmailSender) -> String {
    let credential = sender.credential.clone().map(String::from);
    let server = sender.server.as_deref();
    let from = sender.from.to_string();
    let parts = [
        sender.kind.as_str(),
        credential.as_deref().unwrap_or_default(),
        server.unwrap_or_default(),
        &from,
    ];
    hash_parts(&parts, 16)
}

impl EmailOutbox {
    /// Queues an e-mail, to leave at once.
    pub fn queue_email(
        sender: EmailSenderId,
        email: Email,
        correlation: CorrelationId,
        now: Timestamp,
    ) -> Self {
        let mut outbox = Self {
            sender,
            state: EmailState::Queued { not_before: now },
            email: Some(Box::new(email)),
            attempts: 0,
            unknown: None,
            maybe_sent: false,
            waits_since: None,
            wake_at: None,
            batch: None,
            correlation,
            history: Vec::new(),
        };
        outbox.wait_until(now, now);
        outbox.note(now, None);
        outbox
    }

    /// Returns whether the lease of the attempt that runs lasts for `needed` more.
    pub fn is_leased_for(&self, needed: SignedDuration, now: Timestamp) -> bool {
        matches!(self.state, EmailState::Sending { lease_until, .. } if add_duration(now, needed) <= lease_until)
    }

    /// Returns `true` while something is left to do.
    pub fn is_open(&self) -> bool {
        self.wake_at.is_some()
    }

    /// Returns `true` if the person certainly does not have the e-mail: it waits or was given up, and no attempt had an unknown
    /// outcome.
    pub fn is_certainly_unsent(&self) -> bool {
        let may_have_arrived = match self.state {
            EmailState::Queued { .. } => false,
            EmailState::Dead { reason, .. } => reason == Reason::UnknownOutcome,
            EmailState::Sending { .. } | EmailState::Sent { .. } => true,
        };
        !may_have_arrived && !self.maybe_sent && self.unknown.is_none()
    }

    /// Returns the time at which it was given up; `None` if it was not.
    pub fn failed_at(&self) -> Option<Timestamp> {
        match self.state {
            EmailState::Dead { at, .. } => Some(at),
            _ => None,
        }
    }

    /// Returns the id by which the carrier knows it; `None` if it accepted none.
    pub fn carrier_id(&self) -> Option<&str> {
        match &self.state {
            EmailState::Sent { carrier_id, .. } => Some(carrier_id),
            _ => None,
        }
    }

    /// Returns why the newest step was made.
    pub fn last_reason(&self) -> Option<&str> {
        self.history.last()?.why.as_deref()
    }

    fn note(&mut self, at: Timestamp, why: Option<String>) {
        let what = self.state.as_str().to_owned();
        self.history.push(EmailStep { at, what, why });
        if self.history.len() > STEPS_MAX {
            self.history.remove(1);
        }
    }

    /// Returns to `queued` until a time. A job on the queue waits for a near one, and `reconcile` for another.
    fn wait_until(&mut self, not_before: Timestamp, now: Timestamp) {
        self.state = EmailState::Queued { not_before };
        let has_job = not_before <= add_duration(now, EMAIL_JOB_WAIT_MAX);
        self.wake_at = Some(if has_job {
            add_duration(not_before.max(now), JOB_PATIENCE)
        } else {
            not_before
        });
    }

    fn invalid<T>(&self) -> Result<T, InvalidEmailTransition> {
        Err(InvalidEmailTransition(self.state.as_str()))
    }

    /// Moves `queued → queued`: the e-mail may not leave before a time, by the rules of its tenant or because its sender is not there.
    pub fn put_off(
        &mut self,
        until: Timestamp,
        why: &str,
        now: Timestamp,
    ) -> Result<(), InvalidEmailTransition> {
        if !matches!(self.state, EmailState::Queued { .. }) {
            return self.invalid();
        }
        self.wait_until(until, now);
        if self.last_reason() != Some(why) {
            self.note(now, Some(why.to_owned()));
        }
        Ok(())
    }

    /// Returns `true` if an attempt by this sender cannot give the person the e-mail twice: no earlier one has an unknown outcome, or
    /// the carrier recognizes the repeat.
    pub fn may_attempt(&self, sender: &EmailSender, now: Timestamp) -> bool {
        let Some(unknown) = &self.unknown else { return true };
        match sender.kind.repeat_rule() {
            RepeatRule::Never => false,
            RepeatRule::Within(time) => {
                unknown.sender == hash_sender(sender) && now < add_duration(unknown.at, time)
            }
        }
    }

    /// Chooses the pause after a carrier was asked too often and named no time: as long as the e-mail has waited already, so that the
    /// pauses grow. `random` is any number; it selects the place within the jitter.
    pub fn choose_throttle_pause(&self, now: Timestamp, random: u64) -> SignedDuration {
        let waited = self
            .waits_since
            .map_or(SignedDuration::ZERO, |since| now.duration_since(since));
        let seconds = waited.clamp(THROTTLE_PAUSE_MIN, THROTTLE_PAUSE_MAX).as_secs_f64();
        let scattered = Backoff::Exponential {
            base: seconds,
            cap: seconds,
            jitter: THROTTLE_JITTER,
        };
        scattered.delay_for_attempt(1, random)
    }

    /// Moves `queued → sending`, and counts the attempt.
    pub fn begin_attempt(&mut self, nonce: Nonce, now: Timestamp) -> Result<(), InvalidEmailTransition> {
        match self.state {
            EmailState::Queued { not_before } if not_before <= now => {}
            _ => return self.invalid(),
        }
        let lease_until = add_duration(now, EMAIL_LEASE);
        self.state = EmailState::Sending { nonce, lease_until };
        self.attempts += 1;
        self.wake_at = Some(add_duration(lease_until, JOB_PATIENCE));
        self.note(now, None);
        Ok(())
    }

    /// Moves `sending → sent`.
    pub fn record_accepted(
        &mut self,
        carrier_id: String,
        is_simulated: bool,
        now: Timestamp,
    ) -> Result<(), InvalidEmailTransition> {
        if !matches!(self.state, EmailState::Sending { .. }) {
            return self.invalid();
        }
        self.state = EmailState::Sent {
            at: now,
            carrier_id,
            is_simulated,
        };
        self.email = None;
        self.wake_at = None;
        self.waits_since = None;
        self.note(now, is_simulated.then(|| "simulated".to_owned()));
        Ok(())
    }

    /// Moves `sending → queued`, or `dead` if no further attempt is allowed. `sender` is the one that made the attempt, if it is
    /// still configured.
    pub fn record_failure(
        &mut self,
        failed: FailedAttempt,
        sender: Option<&EmailSender>,
        limits: EmailLimits,
        now: Timestamp,
    ) -> Result<(), InvalidEmailTransition> {
        let EmailState::Sending { lease_until, .. } = self.state else {
            return self.invalid();
        };
        let (why, next, reason) = match failed {
            FailedAttempt::Refused { why, next } => {
                self.waits_since = None;
                let is_last = self.attempts >= limits.attempts;
                (why, next, is_last.then_some(Reason::MaxRetriesExceeded))
            }
            FailedAttempt::Waits { why, next } => {
                self.attempts = self.attempts.saturating_sub(1);
                let since = *self.waits_since.get_or_insert(now);
                let is_over = add_duration(since, limits.patience) <= now;
                (why, next, is_over.then_some(Reason::EmailSenderUnavailable))
            }
            FailedAttempt::Unknown { why, next } => {
                self.waits_since = None;
                let began = millis::add_duration(lease_until, -EMAIL_LEASE);
                let unknown = sender.map(|sender| UnknownAttempt {
                    at: began,
                    sender: hash_sender(sender),
                });
                self.maybe_sent = true;
                // The first one counts: from it on the carrier remembers the id.
                self.unknown = self.unknown.take().or(unknown);
                let may_repeat = sender.is_some_and(|sender| self.may_attempt(sender, next));
                let ends = !may_repeat || self.attempts >= limits.attempts;
                (why, next, ends.then_some(Reason::UnknownOutcome))
            }
        };
        if let Some(reason) = reason {
            self.die(reason, why, now);
            return Ok(());
        }
        self.wait_until(next, now);
        self.note(now, Some(why));
        Ok(())
    }

    fn die(&mut self, reason: Reason, why: String, now: Timestamp) {
        self.maybe_sent |= reason == Reason::UnknownOutcome;
        self.state = EmailState::Dead {
            at: now,
            reason,
            copied: false,
        };
        self.wake_at = Some(now);
        self.note(now, Some(why));
    }

    /// Moves `queued | sending → dead`: the e-mail can never be sent.
    pub fn give_up(
        &mut self,
        reason: Reason,
        why: String,
        now: Timestamp,
    ) -> Result<(), InvalidEmailTransition> {
        if !matches!(self.state, EmailState::Queued { .. } | EmailState::Sending { .. }) {
            return self.invalid();
        }
        self.die(reason, why, now);
        Ok(())
    }

    /// Moves `queued → dead` without a dead letter: it is not to leave any more. An earlier attempt may have sent it.
    pub fn cancel(&mut self, reason: Reason, now: Timestamp) -> Result<(), InvalidEmailTransition> {
        if !matches!(self.state, EmailState::Queued { .. }) {
            return self.invalid();
        }
        self.state = EmailState::Dead {
            at: now,
            reason,
            copied: true,
        };
        self.email = None;
        self.wake_at = None;
        self.note(now, Some(reason.to_string()));
        Ok(())
    }

    /// Notes that the dead letter exists.
    pub fn mark_copied(&mut self) -> Result<(), InvalidEmailTransition> {
        let EmailState::Dead { copied, .. } = &mut self.state else {
            return self.invalid();
        };
        *copied = true;
        self.wake_at = None;
        Ok(())
    }

    /// Moves `dead → queued` if the failure is the one at `failed_at`. A person who redrives an e-mail of unknown outcome decides that
    /// it may come twice; the mark stays.
    pub fn requeue_dead(
        &mut self,
        failed_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), InvalidEmailTransition> {
        if self.failed_at() != Some(failed_at) || self.email.is_none() {
            return self.invalid();
        }
        self.attempts = 0;
        self.unknown = None;
        self.waits_since = None;
        self.wait_until(now, now);
        self.note(now, Some("redriven".to_owned()));
        Ok(())
    }

    /// Moves `dead → dead` with the reason `purged`, if the failure is the one at `failed_at`: nobody can redrive it any more.
    pub fn purge_dead(&mut self, failed_at: Timestamp, now: Timestamp) -> Result<(), InvalidEmailTransition> {
        if self.failed_at() != Some(failed_at) {
            return self.invalid();
        }
        self.state = EmailState::Dead {
            at: now,
            reason: Reason::Purged,
            copied: true,
        };
        self.email = None;
        self.wake_at = None;
        self.note(now, None);
        Ok(())
    }
}
