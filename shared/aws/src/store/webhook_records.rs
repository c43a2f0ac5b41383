//! Records of posts to endpoints: there are none on AWS, which publishes no events yet.

use super::DynamoStore;
use jiff::Timestamp;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::published_event::EventCursor;
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent};
use recado_pipeline::ports::{
    Page, PageRequest, PortError, PortResult, System, WebhookRecords, WriteOutcome,
};

fn refuse_write<T>() -> PortResult<T> {
    Err(PortError::invalid(
        "webhook endpoints",
        "this store publishes no events",
    ))
}

impl<A: System> WebhookRecords for DynamoStore<A> {
    async fn find_endpoint_state(
        &self,
        _: &TenantId,
        _: &WebhookEndpointId,
    ) -> PortResult<Option<EndpointState>> {
        Ok(None)
    }

    async fn list_endpoint_states(&self, _: Option<&TenantId>, _: usize) -> PortResult<Vec<EndpointState>> {
        Ok(Vec::new())
    }

    async fn save_endpoint_state(&self, _: &EndpointState, _: &[FailedEvent]) -> PortResult<WriteOutcome> {
        refuse_write()
    }

    async fn put_failed_event(&self, _: &FailedEvent) -> PortResult<()> {
        refuse_write()
    }

    async fn remove_failed_event(&self, _: &FailedEvent) -> PortResult<()> {
        refuse_write()
    }

    async fn find_failed_event(
        &self,
        _: &TenantId,
        _: &WebhookEndpointId,
        _: EventCursor,
    ) -> PortResult<Option<FailedEvent>> {
        Ok(None)
    }

    async fn list_failed_events(
        &self,
        _: &TenantId,
        _: &WebhookEndpointId,
        _: &PageRequest,
    ) -> PortResult<Page<FailedEvent>> {
        Ok(Page {
            items: Vec::new(),
            next_cursor: None,
        })
    }

    async fn list_due_failed_events(
        &self,
        _: &TenantId,
        _: &WebhookEndpointId,
        _: Timestamp,
        _: usize,
    ) -> PortResult<Vec<FailedEvent>> {
        Ok(Vec::new())
    }

    async fn delete_endpoint_records(&self, _: &TenantId, _: &WebhookEndpointId) -> PortResult<()> {
        Ok(())
    }
}
