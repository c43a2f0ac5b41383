use super::FaultyPort;
use jiff::Timestamp;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::published_event::EventCursor;
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent};
use recado_pipeline::ports::{Page, PageRequest, Store, WebhookRecords, WriteOutcome};
use recado_testkit::delegate_calls;

impl<S: Store> WebhookRecords for FaultyPort<S> {
    delegate_calls! {
        find_endpoint_state(tenant: &TenantId, endpoint: &WebhookEndpointId) -> Option<EndpointState>;
        list_endpoint_states(tenant: Option<&TenantId>, limit: usize) -> Vec<EndpointState>;
        save_endpoint_state(state: &EndpointState, failed: &[FailedEvent]) -> WriteOutcome;
        replace_failed_event(failed: &FailedEvent) -> WriteOutcome;
        remove_failed_event(failed: &FailedEvent) -> ();
        find_failed_event(tenant: &TenantId, endpoint: &WebhookEndpointId, cursor: EventCursor) -> Option<FailedEvent>;
        list_failed_events(tenant: &TenantId, endpoint: &WebhookEndpointId, page: &PageRequest) -> Page<FailedEvent>;
        list_due_failed_events(tenant: &TenantId, endpoint: &WebhookEndpointId, now: Timestamp, limit: usize)
            -> Vec<FailedEvent>;
        delete_endpoint_records(tenant: &TenantId, endpoint: &WebhookEndpointId) -> ();
    }
}
