//! What is known of the posts to an endpoint of a tenant: how far it was told, how often it failed in a row, and which events it
//! was never told.
//!
//! Each endpoint has a place of its own in the log of published events. What is behind the place was posted, or is in the list of
//! failed events. So a dead endpoint costs the others nothing, and a process that ends repeats what it had not noted.

use crate::ids::{TenantId, WebhookEndpointId};
use crate::millis::{self, add_duration};
use crate::published_event::{EventCursor, PublishedEvent};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Time for which an event is tried again at least before it counts as failed: 27 hours.
pub const TRIED_FOR: SignedDuration = SignedDuration::from_hours(27);

/// Time of failures in a row after which an endpoint is switched off: 5 days.
pub const SWITCHED_OFF_AFTER: SignedDuration = SignedDuration::from_hours(5 * 24);

/// Time of failures in a row from which an endpoint is reported: 1 hour.
pub const REPORTED_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// Time for which a failed event is kept: 30 days.
pub const FAILED_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// First and longest wait between two attempts. Each wait is four times the one before.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(5);
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(1);

/// The reason why an attempt failed, in words without personal data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// The endpoint lacks something to be reached: it waits, and this is no failure of its own.
    #[error("{0}")]
    NotConfigured(String),
    /// The endpoint was not reached, or refused the event.
    #[error("{0}")]
    Failed(String),
    /// The endpoint says that it is gone for good (410).
    #[error("it answered 410: it is gone")]
    Gone,
}

/// The next step for an event whose attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// The event is tried again at [`EndpointState::next_at`].
    Retry,
    /// The event counts as failed: the next event is tried.
    GiveUp,
}

/// The record of an endpoint's posts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointState {
    /// The tenant.
    pub tenant: TenantId,
    /// The endpoint.
    pub endpoint: WebhookEndpointId,
    /// The place up to which events were posted or failed.
    pub cursor: EventCursor,
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
    /// Revision: grows at every write.
    pub rev: u64,
}

/// An event that an endpoint was not told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedEvent {
    /// The tenant.
    pub tenant: TenantId,
    /// The endpoint.
    pub endpoint: WebhookEndpointId,
    /// The place behind the event.
    pub cursor: EventCursor,
    /// The event.
    pub event: PublishedEvent,
    /// Time at which it was given up.
    #[serde(with = "millis")]
    pub failed_at: Timestamp,
    /// Why the last attempt failed.
    pub error: String,
}

impl FailedEvent {
    /// Returns the time at which the record expires.
    pub fn expires_at(&self) -> Timestamp {
        add_duration(self.failed_at, FAILED_RETENTION)
    }
}

impl EndpointState {
    /// Makes the record of an endpoint that is told what is published from `cursor` on.
    pub fn start_at(tenant: &TenantId, endpoint: &WebhookEndpointId, cursor: EventCursor) -> Self {
        Self {
            tenant: tenant.clone(),
            endpoint: endpoint.clone(),
            cursor,
            failing_since: None,
            failures: 0,
            next_at: None,
            switched_off_at: None,
            accepted_at: None,
            error: None,
            rev: 0,
        }
    }

    /// Returns whether an attempt may be made at `now`.
    pub fn may_post(&self, now: Timestamp) -> bool {
        self.switched_off_at.is_none() && self.next_at.is_none_or(|next| next <= now)
    }

    /// Notes that everything up to `cursor` was accepted, or was not wanted.
    pub fn note_accepted(&mut self, cursor: EventCursor, now: Timestamp) {
        self.cursor = self.cursor.max(cursor);
        self.accepted_at = Some(now);
        self.forget_failures();
    }

    fn forget_failures(&mut self) {
        self.failing_since = None;
        self.failures = 0;
        self.next_at = None;
        self.error = None;
    }

    /// Notes that the attempt to post an event that was published at `published_at` failed.
    ///
    /// The event is given up once it and the endpoint's failures are 27 hours old, so that each event was tried for as long.
    pub fn note_failed(
        &mut self,
        published_at: Timestamp,
        error: &PostError,
        now: Timestamp,
    ) -> AfterFailure {
        self.error = Some(error.to_string());
        let wait = self.next_wait();
        if let PostError::NotConfigured(_) = error {
            // Nobody was asked: it is mended, and then goes on where it stopped.
            self.next_at = Some(add_duration(now, LONGEST_WAIT.min(wait.saturating_mul(12))));
            return AfterFailure::Retry;
        }
        self.failures = self.failures.saturating_add(1);
        let since = *self.failing_since.get_or_insert(now);
        let is_due = |since: Timestamp, time| add_duration(since, time) <= now;
        self.next_at = Some(add_duration(now, wait));
        if *error == PostError::Gone || is_due(since, SWITCHED_OFF_AFTER) {
            self.switched_off_at = Some(now);
            return AfterFailure::Retry;
        }
        if is_due(since, TRIED_FOR) && is_due(published_at, TRIED_FOR) {
            return AfterFailure::GiveUp;
        }
        AfterFailure::Retry
    }

    /// Returns the wait behind an attempt that fails now.
    fn next_wait(&self) -> SignedDuration {
        (0..self.failures.min(16)).fold(FIRST_WAIT, |wait, _| {
            wait.saturating_mul(4).min(LONGEST_WAIT)
        })
    }

    /// Lets the endpoint be tried again at once: from `from` on, or from where it stopped.
    pub fn resume_posts(&mut self, from: Option<EventCursor>) {
        if let Some(from) = from {
            self.cursor = from;
        }
        self.switched_off_at = None;
        self.forget_failures();
    }

    /// Returns the time since which the endpoint fails, if it is to be reported at `now`.
    pub fn reported_since(&self, now: Timestamp) -> Option<Timestamp> {
        let since = self.failing_since.or(self.switched_off_at)?;
        let is_reported = self.switched_off_at.is_some() || add_duration(since, REPORTED_AFTER) <= now;
        is_reported.then_some(since)
    }
}

#[cfg(test)]
mod tests;
