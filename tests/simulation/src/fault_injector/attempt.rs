//! The attempt that a function is at: noted as it goes on, for the checks.

use super::FaultInjector;
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_pipeline::ports::SendOutcome;
use std::sync::atomic::Ordering;

/// No attempt.
const NONE: usize = usize::MAX;

impl FaultInjector {
    /// Returns the place of the observed attempt that the function is at.
    pub fn attempt(&self) -> Option<usize> {
        let at = self.attempt.load(Ordering::Relaxed);
        (at != NONE).then_some(at)
    }

    /// The claim of `message` has taken effect.
    pub fn note_claim(&self, message: &Message) {
        let at_ms = self.common.simulation.elapsed_ms();
        if let Some(number) = self.common.observations().claim(message, at_ms) {
            self.attempt.store(number, Ordering::Relaxed);
        }
    }

    /// A function whose commit was not answered found `message`: it goes on with the attempt that began with it, if one did.
    pub fn note_found_claim(&self, message: &Message) {
        let out = message.out.as_ref();
        let is_claimed = out.is_some_and(|out| matches!(out.state, OutboxState::Sending { .. }));
        if is_claimed && self.attempt().is_none() {
            self.note_claim(message);
        }
    }

    /// Its request leaves.
    pub fn note_request(&self) {
        let at_ms = self.common.simulation.elapsed_ms();
        if let Some(number) = self.attempt() {
            self.common.observations().attempts[number].requested_ms = Some(at_ms);
        }
    }

    /// The function was told how it ended.
    pub fn note_outcome(&self, outcome: &SendOutcome) {
        let at_ms = self.common.simulation.elapsed_ms();
        if let Some(number) = self.attempt() {
            self.common.observations().tell(number, outcome, at_ms);
        }
    }

    /// `message` is written down: how the attempt ended, if it is its message.
    pub fn note_written(&self, message: &Message) {
        let Some(number) = self.attempt() else {
            return;
        };
        let open = message
            .out
            .as_ref()
            .is_some_and(|out| matches!(out.state, OutboxState::Sending { .. }));
        let mut observations = self.common.observations();
        if observations.attempts[number].message == message.message_id() && !open {
            observations.attempts[number].settled = true;
            self.attempt.store(NONE, Ordering::Relaxed);
        }
    }
}
