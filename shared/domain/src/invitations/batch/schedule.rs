//! Batches that wait for their time, and reminders of occasions, which get their recipients only then.

use super::{Batch, BatchState};
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The reminder of an occasion that a batch is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchReminder {
    /// The time before the occasion, as the occasion has it.
    pub before: String,
    /// The beginning of the occasion for which it was planned. Nobody is reminded of it later.
    #[serde(with = "millis")]
    pub begins_at: Timestamp,
    /// `true` if the occasion no longer has the reminder: it was moved or cancelled, or its reminders were changed.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub is_withdrawn: bool,
}

impl Batch {
    /// Lets the batch run once its recipients are stored, and makes it due; one for later waits for its time. Returns `false` if it
    /// was begun before.
    pub fn begin(&mut self, now: Timestamp) -> bool {
        let is_new = self.state == BatchState::Preparing;
        if is_new {
            self.state = self.choose_open_state(now);
            self.record_step(0, now);
            self.await_time(now);
        }
        is_new
    }

    /// Lets a batch run whose time has come. `recipients`: their number. Returns `false` if it does not wait.
    pub fn start(&mut self, recipients: usize, now: Timestamp) -> bool {
        let is_scheduled = self.state == BatchState::Scheduled;
        if is_scheduled {
            self.state = BatchState::Running;
            self.recipients = recipients;
            self.record_step(0, now);
        }
        is_scheduled
    }

    /// Returns `true` for a reminder that has no recipients yet.
    fn is_unfilled_reminder(&self) -> bool {
        self.reminder.is_some() && self.recipients == 0
    }

    /// Returns the state of a batch that nobody stopped.
    pub(super) fn choose_open_state(&self, now: Timestamp) -> BatchState {
        if self.is_unfilled_reminder() || self.send_at.is_some_and(|at| at > now) {
            BatchState::Scheduled
        } else {
            BatchState::Running
        }
    }

    /// Has `reconcile` look at a scheduled batch at its time.
    pub(super) fn await_time(&mut self, now: Timestamp) {
        if self.state == BatchState::Scheduled {
            self.due_at = Some(self.send_at.unwrap_or(now));
        }
    }

    /// Withdraws a reminder that the occasion no longer has. Returns `false` if nothing of it can leave any more.
    pub fn withdraw_reminder(&mut self) -> bool {
        if matches!(self.state, BatchState::Cancelled | BatchState::Finished) {
            return false;
        }
        let Some(reminder) = &mut self.reminder else {
            return false;
        };
        reminder.is_withdrawn = true;
        self.state = BatchState::Cancelled;
        self.due_at = None;
        true
    }

    /// Plans a reminder again that was withdrawn before it fell due. Returns `false` if there is nothing to do: it is planned, somebody
    /// cancelled it, or it was begun.
    pub fn restore_reminder(&mut self, now: Timestamp) -> bool {
        let is_unfilled = self.is_unfilled_reminder();
        let Some(reminder) = self.reminder.as_mut().filter(|one| one.is_withdrawn) else {
            return false;
        };
        if !is_unfilled {
            return false;
        }
        reminder.is_withdrawn = false;
        self.state = BatchState::Scheduled;
        self.await_time(now);
        true
    }
}
