//! The posts of published events to an endpoint of a tenant: which are made next, and what follows from their results.
//!
//! Each endpoint has a place of its own in the log of published events. What is behind the place was accepted, or stands among the
//! endpoint's failed events. So a dead endpoint costs the others nothing, and a process that ends repeats what it had not noted.

mod failed_event;
mod salts;

pub use failed_event::FailedEvent;
pub use salts::SigningSalts;

use crate::ids::{Nonce, TenantId, WebhookEndpointId};
use crate::millis::{self, add_duration};
use crate::published_event::{EventCursor, PublishedEvent};
use crate::revision::{generation_of, start_revision};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Time for which an event is tried before it counts as given up: 27 hours.
pub const TRIED_FOR: SignedDuration = SignedDuration::from_hours(27);

/// Time of failures in a row after which an endpoint is switched off: 5 days.
pub const SWITCHED_OFF_AFTER: SignedDuration = SignedDuration::from_hours(5 * 24);

/// Time of failures in a row from which an endpoint is reported: 1 hour.
pub const REPORTED_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// First and longest wait between two attempts. Each wait is four times the one before.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(5);
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(1);

/// The number of events that an endpoint is posted at once while it answers. So many of them are set aside at once at most.
pub const POSTS_AT_ONCE: usize = 8;

/// The number of events that an endpoint is posted at once while it fails.
const PROBES_AT_ONCE: usize = 2;

/// The number of refusals of an event, while others are accepted, after which it is set aside.
const SET_ASIDE_AFTER: u32 = 3;

/// The reason why a post failed, in words without personal data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// The endpoint was not reached, or refused the event.
    #[error("{0}")]
    Failed(String),
    /// The endpoint says that it is gone for good (410).
    #[error("it answered 410: it is gone")]
    Gone,
}

/// The result of one post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostResult {
    /// The place of the event.
    pub cursor: EventCursor,
    /// The error, unless the endpoint accepted the event.
    pub error: Option<PostError>,
}

/// An event that the endpoint's place goes beyond though it was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftEvent {
    /// The place of the event.
    pub cursor: EventCursor,
    /// Time since which its posts fail.
    pub since: Timestamp,
    /// The number of its attempts.
    pub attempts: u32,
    /// `true` if it is given up; `false` if it is tried on by itself.
    pub is_given_up: bool,
    /// The reason of the last failure.
    pub error: String,
}

/// An event that was refused while others were accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RefusedEvent {
    cursor: EventCursor,
    attempts: u32,
    #[serde(with = "millis")]
    since: Timestamp,
    #[serde(with = "millis")]
    next_at: Timestamp,
}

/// The record of an endpoint's posts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointState {
    /// The tenant.
    pub tenant: TenantId,
    /// The endpoint.
    pub endpoint: WebhookEndpointId,
    /// The salts of which its signing secrets are made.
    pub salts: SigningSalts,
    /// The place up to which no event needs a post any more.
    pub cursor: EventCursor,
    /// Places of events further on that need none either.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    told: BTreeSet<EventCursor>,
    /// Events further on that were refused while others were accepted.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    refused: Vec<RefusedEvent>,
    /// Time since which every attempt failed.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// Number of attempts that failed in a row.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub failures: u32,
    /// Time before which there is no attempt.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// Time at which the endpoint was switched off because it failed for days or is gone.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub switched_off_at: Option<Timestamp>,
    /// Time of the last post that was accepted.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Timestamp>,
    /// Why the last attempt failed, while the endpoint fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// A revision of its generation, which tells the endpoint from one that had its name before (see [`crate::revision`]).
    rev: u64,
}

/// Returns the wait behind an attempt that failed, after so many failures before it.
fn wait_after_failure(before: u32) -> SignedDuration {
    (0..before.min(16)).fold(FIRST_WAIT, |wait, _| wait.saturating_mul(4).min(LONGEST_WAIT))
}

fn is_over(since: Timestamp, time: SignedDuration, now: Timestamp) -> bool {
    add_duration(since, time) <= now
}

impl EndpointState {
    /// Makes the record of an endpoint that is told what is published from `cursor` on. The random `salt` gives it its generation, too.
    pub fn start_at(
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        cursor: EventCursor,
        salt: Nonce,
    ) -> Self {
        let rev = start_revision(&[salt.as_str()]);
        Self {
            tenant: tenant.clone(),
            endpoint: endpoint.clone(),
            salts: SigningSalts::new(salt),
            cursor,
            told: BTreeSet::new(),
            refused: Vec::new(),
            failing_since: None,
            failures: 0,
            next_at: None,
            switched_off_at: None,
            accepted_at: None,
            error: None,
            rev,
        }
    }

    /// Returns the generation of the endpoint. Its failed events have it, too.
    pub fn generation(&self) -> u64 {
        generation_of(self.rev)
    }

    /// Sets times back that a clock that ran ahead gave. Returns whether there were any.
    pub(crate) fn set_times_back(&mut self, now: Timestamp) -> bool {
        let refused = self.refused.iter_mut();
        let refused = refused.flat_map(|one| [&mut one.since, &mut one.next_at]);
        let waits = [&mut self.next_at, &mut self.failing_since];
        let mut is_changed = false;
        for at in refused.chain(waits.into_iter().flatten()) {
            is_changed |= *at > now;
            *at = now.min(*at);
        }
        is_changed
    }

    /// Returns whether an attempt may be made at `now`. A time that is further away than any wait was set by a clock that ran ahead.
    pub fn may_post(&self, now: Timestamp) -> bool {
        let latest = add_duration(now, LONGEST_WAIT);
        self.switched_off_at.is_none() && self.next_at.is_none_or(|next| next <= now || next > latest)
    }

    /// Chooses the events that are posted now, of those that the endpoint wants behind its place, the oldest first.
    ///
    /// Of each conversation it is the oldest that needs a post, so that the endpoint is told of the others when it accepted that.
    pub fn choose_posts<'a>(
        &self,
        wanted: impl Iterator<Item = (EventCursor, &'a PublishedEvent)>,
        now: Timestamp,
    ) -> Vec<EventCursor> {
        let most = if self.failures > 0 {
            PROBES_AT_ONCE
        } else {
            POSTS_AT_ONCE
        };
        let mut order_keys = BTreeSet::new();
        let untold = wanted.filter(|(cursor, _)| !self.told.contains(cursor));
        let first = untold.filter(|(_, event)| order_keys.insert(event.order_key()));
        let waits = |cursor: EventCursor| {
            let refused = self.refused.iter().find(|refused| refused.cursor == cursor);
            refused.is_some_and(|refused| refused.next_at > now)
        };
        let due = first.map(|(cursor, _)| cursor).filter(|cursor| !waits(*cursor));
        due.take(most).collect()
    }

    /// Notes the results of posts that were made at once. Returns the events that are set aside.
    pub fn note_results(&mut self, results: &[PostResult], now: Timestamp) -> Vec<LeftEvent> {
        let Some(first) = results.iter().find_map(|result| result.error.as_ref()) else {
            return self.note_answers(results, now);
        };
        if results.iter().any(|result| result.error.is_none()) {
            return self.note_answers(results, now);
        }
        self.error = Some(first.to_string());
        self.next_at = Some(add_duration(now, wait_after_failure(self.failures)));
        self.failures = self.failures.saturating_add(1);
        let since = *self.failing_since.get_or_insert(now);
        let is_gone = results.iter().any(|result| result.error == Some(PostError::Gone));
        if is_gone || is_over(since, SWITCHED_OFF_AFTER, now) {
            self.switched_off_at = Some(now);
        }
        Vec::new()
    }

    /// Notes the results of an endpoint that answers: it accepted at least one event. One that it refuses several times is set aside.
    fn note_answers(&mut self, results: &[PostResult], now: Timestamp) -> Vec<LeftEvent> {
        if !results.is_empty() {
            self.accepted_at = Some(now);
            self.forget_failures();
        }
        let mut left = Vec::new();
        for result in results {
            let before = self
                .refused
                .iter()
                .position(|refused| refused.cursor == result.cursor);
            let before = before.map(|place| self.refused.swap_remove(place));
            let Some(error) = &result.error else {
                self.told.insert(result.cursor);
                continue;
            };
            let attempts = before.as_ref().map_or(0, |refused| refused.attempts) + 1;
            let since = before.map_or(now, |refused| refused.since);
            if attempts < SET_ASIDE_AFTER {
                self.refused.push(RefusedEvent {
                    cursor: result.cursor,
                    attempts,
                    since,
                    next_at: add_duration(now, wait_after_failure(attempts - 1)),
                });
                continue;
            }
            self.told.insert(result.cursor);
            left.push(LeftEvent {
                cursor: result.cursor,
                since,
                attempts,
                is_given_up: false,
                error: error.to_string(),
            });
        }
        left
    }

    /// Gives up events that are 27 hours old, at most `most`, if the endpoint has failed for as long.
    pub fn give_up_old_events<'a>(
        &mut self,
        wanted: impl Iterator<Item = (EventCursor, &'a PublishedEvent)>,
        now: Timestamp,
        most: usize,
    ) -> Vec<LeftEvent> {
        let Some(since) = self.failing_since.filter(|_| self.switched_off_at.is_none()) else {
            return Vec::new();
        };
        if !is_over(since, TRIED_FOR, now) {
            return Vec::new();
        }
        let old =
            wanted.filter(|(cursor, event)| is_over(event.at, TRIED_FOR, now) && !self.told.contains(cursor));
        let left = old.take(most).map(|(cursor, event)| LeftEvent {
            cursor,
            since: since.max(event.at),
            attempts: self.failures,
            is_given_up: true,
            error: self.error.clone().unwrap_or_default(),
        });
        let left: Vec<LeftEvent> = left.collect();
        for event in &left {
            self.told.insert(event.cursor);
        }
        left
    }

    /// Moves the place over the events of a page that need no post: those that are told, and those that are not wanted. `next` is
    /// the place behind the page.
    pub fn move_place(&mut self, page: impl Iterator<Item = (EventCursor, bool)>, next: EventCursor) {
        for (cursor, is_wanted) in page {
            if is_wanted && !self.told.contains(&cursor) {
                self.forget_places();
                return;
            }
            self.cursor = self.cursor.max(cursor);
        }
        self.cursor = self.cursor.max(next);
        self.forget_places();
    }

    /// Forgets places that the endpoint's place went beyond.
    fn forget_places(&mut self) {
        self.told.retain(|cursor| *cursor > self.cursor);
        self.refused.retain(|refused| refused.cursor > self.cursor);
    }

    fn forget_failures(&mut self) {
        self.failing_since = None;
        self.failures = 0;
        self.next_at = None;
        self.error = None;
    }

    /// Lets the endpoint be tried again at once: from `from` on, or from where it stopped.
    pub fn resume_posts(&mut self, from: Option<EventCursor>) {
        if let Some(from) = from {
            self.cursor = from;
            self.told.clear();
            self.refused.clear();
        }
        self.switched_off_at = None;
        self.forget_failures();
    }

    /// Returns the time since which the endpoint fails, if it is to be reported at `now`.
    pub fn reported_since(&self, now: Timestamp) -> Option<Timestamp> {
        let since = self.failing_since.or(self.switched_off_at)?;
        let is_reported = self.switched_off_at.is_some() || is_over(since, REPORTED_AFTER, now);
        is_reported.then_some(since)
    }
}

#[cfg(test)]
mod tests;
