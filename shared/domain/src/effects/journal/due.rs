//! When something of a journal falls due.

use super::super::entry::MARGIN;
use super::{EffectEntry, EffectState, Journal, SETTLING_CALLS};
use crate::millis::add_duration;
use jiff::{SignedDuration, Timestamp};

/// By how much the clocks of two workers differ at most, twice.
const SKEW: SignedDuration = SignedDuration::from_secs(4);

/// Pause before the next attempt to settle an entry: a minute, five once it is unknown, an hour when it has been for a day.
pub(super) fn settling_pause(entry: &EffectEntry, now: Timestamp) -> SignedDuration {
    if !entry.was_tried_enough() {
        SignedDuration::from_mins(1)
    } else if now.duration_since(entry.begun_at) < SignedDuration::from_hours(24) {
        SignedDuration::from_mins(5)
    } else {
        SignedDuration::from_hours(1)
    }
}

fn entry_due_at(entry: &EffectEntry) -> Option<Timestamp> {
    let over = add_duration(entry.until, SKEW);
    match entry.state {
        EffectState::Doing | EffectState::Unknown => Some(entry.next_at.map_or(over, |next| next.max(over))),
        EffectState::Failed if entry.fence => Some(entry.next_at.unwrap_or(over)),
        EffectState::Done | EffectState::Failed | EffectState::Void => None,
    }
}

impl Journal {
    /// Returns the time at which `reconcile` has something to do: an entry to settle, a fence to remove, an event to look at.
    pub fn journal_due_at(&self) -> Option<Timestamp> {
        let entries = self.entries.iter().filter_map(entry_due_at);
        let looks = self.bookings.iter().map(|booking| booking.look_at);
        entries.chain(looks).min()
    }

    /// Frees the effects that were under way when their process ended, so that they are settled at once. Returns whether there
    /// were any.
    pub fn free_entries(&mut self, now: Timestamp) -> bool {
        let open = self.entries.iter_mut().filter(|entry| entry.state.is_open());
        let held: Vec<&mut EffectEntry> = open.filter(|entry| entry.until > now).collect();
        let is_freed = !held.is_empty();
        for entry in held {
            entry.until = now;
        }
        self.rev += u64::from(is_freed);
        is_freed
    }

    /// Sets times back that a clock that ran ahead gave. Returns whether there were any. An effect that began by a correct clock is
    /// left to its worker, as long as its time is one that attempts have.
    pub(crate) fn set_times_back(&mut self, now: Timestamp) -> bool {
        let mut is_changed = false;
        let mut set_back = |at: &mut Timestamp, latest: Timestamp| {
            is_changed |= *at > latest;
            *at = latest.min(*at);
        };
        for entry in &mut self.entries {
            let longest = add_duration(
                now,
                entry.limit.saturating_mul(SETTLING_CALLS).saturating_add(MARGIN),
            );
            let is_ahead = entry.begun_at > now || entry.until > longest;
            set_back(&mut entry.until, if is_ahead { now } else { longest });
            set_back(&mut entry.begun_at, now);
            if let Some(next_at) = &mut entry.next_at {
                set_back(next_at, now);
            }
        }
        for booking in &mut self.bookings {
            set_back(&mut booking.look_at, now);
        }
        self.rev += u64::from(is_changed);
        is_changed
    }

    /// Returns the begin of the booking that begins the soonest, with what is kept free before it.
    pub fn first_booked_at(&self) -> Option<Timestamp> {
        self.bookings.iter().map(|booking| booking.span.start).min()
    }

    /// Lists the entries that are to be settled at `now`.
    pub fn entries_to_settle(&self, now: Timestamp) -> Vec<&EffectEntry> {
        let due =
            |entry: &&EffectEntry| entry.state.is_open() && entry_due_at(entry).is_some_and(|due| due <= now);
        self.entries.iter().filter(due).collect()
    }

    /// Lists the entries whose fence is to be removed at `now`.
    pub fn fences_to_remove(&self, now: Timestamp) -> Vec<&EffectEntry> {
        let due = |entry: &&EffectEntry| {
            !entry.state.is_open() && entry_due_at(entry).is_some_and(|due| due <= now)
        };
        self.entries.iter().filter(due).collect()
    }

    /// Notes that no fence stands outside any more for this entry.
    pub fn note_fence_removed(&mut self, number: u64) {
        for entry in &mut self.entries {
            if entry.number == number && !entry.state.is_open() {
                entry.fence = false;
                entry.next_at = None;
            }
        }
    }

    /// Puts the removal of a fence off, since the other side did not answer.
    pub fn put_fence_off(&mut self, number: u64, now: Timestamp) {
        for entry in &mut self.entries {
            if entry.number == number && entry.fence && !entry.state.is_open() {
                entry.next_at = Some(add_duration(now, SignedDuration::from_mins(1)));
            }
        }
    }
}
