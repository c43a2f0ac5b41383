//! Published events: not on AWS yet. The API says so.

use super::DynamoStore;
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::published_event::EventCursor;
use recado_pipeline::ports::{PortError, PortResult, PublishedEvents, PublishedPage, System};

fn refuse_call<T>() -> PortResult<T> {
    Err(PortError::invalid(
        "published events",
        "this store publishes no events",
    ))
}

impl<A: System> PublishedEvents for DynamoStore<A> {
    fn publishes_events(&self) -> bool {
        false
    }

    async fn list_published_events(
        &self,
        _: Option<&TenantId>,
        _: EventCursor,
        _: usize,
    ) -> PortResult<PublishedPage> {
        refuse_call()
    }

    async fn find_cursor_before(&self, _: Timestamp) -> PortResult<EventCursor> {
        refuse_call()
    }

    async fn find_newest_cursor(&self, _: Option<&TenantId>) -> PortResult<EventCursor> {
        refuse_call()
    }
}
