//! Events that an endpoint did not accept, apart from its place in the log.

use super::{EndpointState, LeftEvent, PostError, TRIED_FOR, is_over, wait_after_failure};
use crate::ids::{TenantId, WebhookEndpointId};
use crate::millis::{self, add_duration};
use crate::published_event::{EventCursor, PublishedEvent};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Time for which an event that was given up is kept: 30 days.
const FAILED_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// An event that an endpoint did not accept. It is tried on by itself, or given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedEvent {
    /// The tenant.
    pub tenant: TenantId,
    /// The endpoint.
    pub endpoint: WebhookEndpointId,
    /// The generation of the endpoint's state. What belongs to an endpoint that had the name before is not stored any more.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub generation: u64,
    /// The place behind the event.
    pub cursor: EventCursor,
    /// The event.
    pub event: PublishedEvent,
    /// Time since which its posts fail.
    #[serde(with = "millis")]
    pub since: Timestamp,
    /// Time of the last failure.
    #[serde(with = "millis")]
    pub failed_at: Timestamp,
    /// Number of attempts that failed.
    pub attempts: u32,
    /// Time of the next attempt. `None`: it was given up.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// The reason of the last failure.
    pub error: String,
}

impl FailedEvent {
    /// Makes the record of an event that the place of its endpoint goes beyond.
    pub fn from_left(of: &EndpointState, left: LeftEvent, event: PublishedEvent, now: Timestamp) -> Self {
        let next_at = add_duration(now, wait_after_failure(left.attempts.saturating_sub(1)));
        Self {
            tenant: of.tenant.clone(),
            endpoint: of.endpoint.clone(),
            generation: of.generation(),
            cursor: left.cursor,
            event,
            since: left.since,
            failed_at: now,
            attempts: left.attempts,
            next_at: (!left.is_given_up).then_some(next_at),
            error: left.error,
        }
    }

    /// Notes that another attempt failed. The event is given up once it was tried for 27 hours.
    pub fn note_failure(&mut self, error: &PostError, now: Timestamp) {
        let next_at = add_duration(now, wait_after_failure(self.attempts));
        self.attempts = self.attempts.saturating_add(1);
        self.failed_at = now;
        self.error = error.to_string();
        self.next_at = (!is_over(self.since, TRIED_FOR, now)).then_some(next_at);
    }

    /// Lets an event be tried again, from `now` on and for as long as the first time.
    pub fn redrive_event(&mut self, now: Timestamp) {
        self.since = now;
        self.attempts = 0;
        self.next_at = Some(now);
    }

    /// Returns the time at which the record expires.
    pub fn expires_at(&self) -> Timestamp {
        add_duration(self.failed_at, FAILED_RETENTION)
    }
}
