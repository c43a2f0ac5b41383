use super::PortResult;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::published_event::{EventCursor, PublishedEvent};

/// A published event with its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedEvent {
    /// The place behind the event.
    pub cursor: EventCursor,
    /// The event.
    pub event: PublishedEvent,
}

/// A page of the log of published events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedPage {
    /// The events, the oldest first.
    pub events: Vec<LoggedEvent>,
    /// The place at which to go on, also behind an empty page. It is the same for all tenants.
    pub next: EventCursor,
}

impl PublishedPage {
    /// Makes the empty page at a place.
    #[must_use]
    pub fn end_at(next: EventCursor) -> Self {
        let events = Vec::new();
        Self { events, next }
    }
}

/// A place of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogPlace {
    /// Behind this place, which the log gave out. A place ahead of the log is refused as
    /// [`PortError::Invalid`](super::PortError::Invalid): another log gave it.
    After(EventCursor),
    /// Before the oldest event that was published at this time or later; behind all if there is none.
    Before(Timestamp),
    /// Behind the newest event.
    Newest,
}

/// The log of published events.
///
/// The store publishes an event when it stores the change that the event tells of, or, on AWS, soon after. A reader that follows [`PublishedPage::next`]
/// sees every event of its tenant that is kept, those of a conversation in the order of their changes, and none appears behind a
/// cursor that was given out.
#[async_trait]
pub trait PublishedEvents: Send + Sync {
    /// Lists the events from a place on: those of a tenant, or (`None`) of all tenants and of the installation. At most `limit`: with
    /// none the page tells where the place is.
    async fn list_published_events(
        &self,
        tenant: Option<&TenantId>,
        from: LogPlace,
        limit: usize,
    ) -> PortResult<PublishedPage>;
}
