//! Attempts are counted as they were made, wait as long as they must, and nothing is given up too early. What was made is
//! known from the requests themselves.

use super::Told as Conversations;
use crate::executor::START_MS;
use crate::observations::{Attempt, Told};
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_domain::ids::MessageId;
use recado_domain::millis::to_millis;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::reason::Reason;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// How long a worker may stall between making a message and storing it, in milliseconds.
const STALLED_MS: i64 = 600_000;

/// How long a sender may stall in its claim and still send, in milliseconds: what its lease leaves beside the request.
const STALLED_IN_CLAIM_MS: i64 = 15_000;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Conversations])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let by_message = sim.common.observations().by_message();
    for message in told.iter().flat_map(|(_, messages)| messages) {
        let Some(out) = &message.out else { continue };
        let id = message.message_id();
        if sim.common.observations().is_unsure_of(&id) {
            continue;
        }
        let attempts = by_message.get(&id).map_or(&[][..], Vec::as_slice);
        let of_message = OfMessage {
            sim,
            id: &id,
            attempts,
        };
        of_message.each_follows_from_the_one_before();
        of_message.all_are_counted(out);
        of_message.is_given_up_for_a_reason(out);
    }
}

struct OfMessage<'a, S, Q> {
    sim: &'a Simulator<S, Q>,
    id: &'a MessageId,
    attempts: &'a [Attempt],
}

/// The least wait after attempt `number`, in milliseconds: 2, 4, 8 … 60 seconds, half of which is left to chance.
fn backoff_ms(number: u32) -> i64 {
    let plain = 2_000i64.saturating_mul(1 << number.saturating_sub(1).min(10));
    plain.min(60_000) / 2
}

/// How long after the provider's answer the next request left, in milliseconds.
fn waited(before: &Attempt, attempt: &Attempt) -> i64 {
    let told = before.told.map_or(before.claimed_ms, |(at, _)| at);
    attempt.requested_ms.unwrap_or(attempt.claimed_ms) - told
}

impl<S, Q> OfMessage<'_, S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    fn broken(&self, what: &str) {
        self.sim.common.broken(format!("{} {what}", self.id));
    }

    fn redriven(&self, from_ms: i64, to_ms: i64) -> bool {
        self.sim.ledger().redriven(self.id.as_str(), from_ms, to_ms)
    }

    fn each_follows_from_the_one_before(&self) {
        let limit = self.sim.settings.attempts.outbound;
        let mut before: Option<&Attempt> = None;
        let mut may_have_left = false;
        for attempt in self.attempts {
            let number = attempt.number;
            if number > limit {
                self.broken(&format!("is tried for the {number}th time, of at most {limit}"));
            }
            if attempt.marked && !may_have_left {
                self.broken("is marked, and no attempt's outcome was unknown");
            }
            match before {
                None if number != 1 => self.broken(&format!("begins with attempt {number}")),
                Some(before) => self.follows(before, attempt),
                None => {}
            }
            may_have_left |= attempt.ending() == Told::Nothing;
            before = Some(attempt);
        }
    }

    /// `attempt` is the next after `before`.
    fn follows(&self, before: &Attempt, attempt: &Attempt) {
        let redriven = self.redriven(before.claimed_ms, attempt.claimed_ms);
        let expected = before.number + u32::from(before.counts());
        let number = attempt.number;
        if number != expected && !(redriven && number == 1) {
            self.broken(&format!(
                "counts {number} attempts, and {expected} were made since it was queued"
            ));
        }
        if redriven {
            return;
        }
        let (skew, waited) = (self.sim.common.faults.skew_ms, waited(before, attempt));
        match before.ending() {
            Told::Accepted => self.broken("was tried again although it had been accepted"),
            Told::Refused => self.broken("was tried again although it had been refused for good"),
            Told::Later(after) => {
                let least = after.max(backoff_ms(before.number));
                if waited < least - skew {
                    self.broken(&format!("was tried again after {waited} of {least} ms"));
                }
            }
            Told::Nothing => {
                let least = to_millis(self.sim.settings.unknown_wait);
                let waited = attempt.claimed_ms - before.claimed_ms;
                // The wait begins with the claim as its sender dates it, before it stalled in it; then no request leaves.
                let stalled = if before.requested_ms.is_some() {
                    STALLED_IN_CLAIM_MS
                } else {
                    STALLED_MS
                };
                if waited < least - skew - stalled {
                    self.broken(&format!("was repeated after {waited} of {least} ms"));
                }
                if !attempt.marked {
                    self.broken("was repeated and does not say so");
                }
            }
            Told::NotReached => {}
        }
    }

    /// What the record counts in the end are the attempts since it was queued last.
    fn all_are_counted(&self, out: &Outbox) {
        let last = self.attempts.last();
        let expected = last.map_or(0, |last| last.number - u32::from(!last.counts()));
        let since = last.map_or(0, |last| last.claimed_ms);
        let anew = out.attempts == 0 && self.redriven(since, i64::MAX);
        if out.attempts != expected && !anew {
            self.broken(&format!(
                "counts {} attempts in the end, and {expected} were made",
                out.attempts
            ));
        }
    }

    /// What is dead had used up its attempts, had been refused, or had waited for as long as messages wait.
    fn is_given_up_for_a_reason(&self, out: &Outbox) {
        let OutboxState::Dead { at, reason } = out.state else {
            return;
        };
        let limit = self.sim.settings.attempts.outbound;
        let patience = to_millis(self.sim.settings.parked_max);
        let died_ms = at.as_millisecond() - START_MS;
        let last = self.attempts.last();
        let ending = last.map_or(Told::NotReached, Attempt::ending);
        let used_up = last.is_some_and(|last| last.number >= limit);
        let has_waited =
            |since: Option<i64>| since.is_some_and(|since| died_ms - since >= patience - STALLED_MS);
        let holds = match reason {
            Reason::MaxRetriesExceeded => used_up && matches!(ending, Told::Later(_)),
            Reason::WhatsappPermanentError => {
                ending == Told::Refused || !self.sim.fake_world.failures(self.id).is_empty()
            }
            Reason::UnknownOutcome => {
                let since = last.map(|last| last.claimed_ms);
                ending == Told::Nothing && (used_up || has_waited(since))
            }
            Reason::InstanceDisconnected => {
                let committed = self.sim.common.observations().committed.get(self.id).copied();
                has_waited(committed)
            }
            _ => true,
        };
        if !holds {
            let number = last.map_or(0, |last| last.number);
            self.broken(&format!(
                "was given up as {reason} after {number} attempts, of which the last ended as {ending:?}"
            ));
        }
    }
}
