//! The retention and the wakers of the log of published events.

use super::Embedded;
use recado_domain::millis;
use recado_domain::{SignedDuration, Timestamp};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::Notify;

/// A reader that waits for published events. Each has a waker of its own, so that none takes another's notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventReader {
    /// The feed of the open streams.
    Streams,
    /// The posts to the endpoints of tenants.
    Webhooks,
}

impl Embedded {
    /// Sets the time for which published events are kept.
    pub fn set_event_retention(&self, time: SignedDuration) {
        self.inner
            .event_retention
            .store(millis::to_millis(time), Ordering::Relaxed);
    }

    /// Returns the time from which on published events are kept at `now`.
    pub(crate) fn events_kept_since(&self, now: Timestamp) -> Timestamp {
        millis::add_millis(now, -self.inner.event_retention.load(Ordering::Relaxed))
    }

    /// Returns what is notified after each commit that may have published events. One reader at a time may wait for it.
    pub fn event_waker(&self, reader: EventReader) -> &Arc<Notify> {
        let [streams, webhooks] = &self.inner.event_wakers;
        match reader {
            EventReader::Streams => streams,
            EventReader::Webhooks => webhooks,
        }
    }
}
