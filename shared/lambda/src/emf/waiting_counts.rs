//! Decides when what a process counted is written: at most once a minute while runs follow each other, and at its end.

use super::Counts;
use jiff::{SignedDuration, Timestamp};
use std::collections::btree_map::Entry;

/// Time after a writing within which later counts wait. It is shorter than a minute, so that each run of a function that runs each
/// minute writes.
const WAIT: SignedDuration = SignedDuration::from_secs(55);

/// Counts that are due to be written.
#[derive(Debug, PartialEq)]
pub(super) struct DueCounts {
    /// Metrics with their values.
    pub(super) counts: Counts,
    /// Time under which they are written.
    pub(super) at: Timestamp,
}

/// The counts of ended runs that wait to be written.
#[derive(Debug, Default)]
pub(super) struct WaitingCounts {
    counts: Counts,
    /// End of the last run that is among the counts; `None`: there are none.
    until: Option<Timestamp>,
    written_at: Option<Timestamp>,
}

impl WaitingCounts {
    /// Takes the counts of a run that ends `now`, and returns what is due. The first run that counts something writes at once, as does
    /// each one after a minute without a writing.
    pub(super) fn end_run(&mut self, counts: Counts, now: Timestamp) -> Vec<DueCounts> {
        if counts.is_empty() && self.counts.is_empty() {
            return Vec::new();
        }
        if self.written_at.is_some_and(|at| is_recent(at, now)) {
            self.keep_counts(counts, now);
            return Vec::new();
        }
        self.written_at = Some(now);
        // The process slept meanwhile: what it counted before keeps its time.
        let mut due = Vec::new();
        if self.until.is_some_and(|until| !is_recent(until, now)) {
            due.extend(self.take_due(now));
        }
        self.keep_counts(counts, now);
        due.extend(self.take_due(now));
        due
    }

    /// Takes what was counted after the last run, and returns all that is not written yet.
    pub(super) fn end_process(&mut self, counts: Counts, now: Timestamp) -> Option<DueCounts> {
        let until = self.until.unwrap_or(now);
        self.keep_counts(counts, until);
        self.take_due(now)
    }

    fn keep_counts(&mut self, counts: Counts, until: Timestamp) {
        if !counts.is_empty() {
            self.until = Some(until);
        }
        for (series, value) in counts {
            match self.counts.entry(series) {
                Entry::Occupied(mut kept) => kept.get_mut().add_value(value),
                Entry::Vacant(place) => {
                    place.insert(value);
                }
            }
        }
    }

    /// Takes the counts that wait. What was counted within the last minute is written under `now`.
    fn take_due(&mut self, now: Timestamp) -> Option<DueCounts> {
        let counts = std::mem::take(&mut self.counts);
        let until = self.until.take()?;
        let at = if is_recent(until, now) { now } else { until };
        Some(DueCounts { counts, at })
    }
}

/// Returns `true` if `at` is less than a minute before `now`. A clock that was set back makes nothing wait.
fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    let passed = now.duration_since(at);
    !passed.is_negative() && passed < WAIT
}
