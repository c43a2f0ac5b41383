//! Corrects an e-mail after its process ended, and after a clock that ran ahead was set back.

use super::{EMAIL_LEASE, EmailOutbox, EmailState, JOB_PATIENCE};
use crate::millis::add_duration;
use jiff::Timestamp;

impl EmailOutbox {
    /// Ends the attempt of a process that ended: its outcome is unknown, and it is settled at once. Returns whether there was one.
    pub fn free_attempt(&mut self, now: Timestamp) -> bool {
        let EmailState::Sending { lease_until, .. } = &mut self.state else {
            return false;
        };
        let is_held = *lease_until > now;
        *lease_until = now.min(*lease_until);
        self.wake_at = self.wake_at.map(|at| now.min(at));
        is_held
    }

    /// Sets times back that a clock that ran ahead gave. Returns whether there were any. An attempt whose lease is no longer than
    /// leases are is left to its worker.
    pub(crate) fn set_times_back(&mut self, now: Timestamp) -> bool {
        let lease = add_duration(now, EMAIL_LEASE);
        let (wait, wake) = match &mut self.state {
            EmailState::Queued { not_before } => (Some((not_before, now)), add_duration(now, JOB_PATIENCE)),
            EmailState::Sending { lease_until, .. } => {
                let latest = if *lease_until > lease { now } else { lease };
                (Some((lease_until, latest)), add_duration(latest, JOB_PATIENCE))
            }
            EmailState::Sent { .. } | EmailState::Dead { .. } => (None, now),
        };
        let woken = self.wake_at.as_mut().map(|at| (at, wake));
        let began = self.unknown.as_mut().map(|unknown| (&mut unknown.at, now));
        let since = self.waits_since.as_mut().map(|at| (at, now));
        let mut is_changed = false;
        for (at, latest) in wait.into_iter().chain(woken).chain(began).chain(since) {
            is_changed |= *at > latest;
            *at = latest.min(*at);
        }
        is_changed
    }
}
