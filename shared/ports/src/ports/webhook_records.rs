use super::{Page, PageRequest, PortResult, WriteOutcome};
use jiff::Timestamp;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::published_event::EventCursor;
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent};
use std::future::Future;

/// The number of failed events that one call of [`WebhookRecords::save_endpoint_state`] stores at most.
pub const FAILED_EVENTS_PER_WRITE: usize = 90;

/// A store of what is known of the posts to endpoints: a state for each endpoint, and the events that it did not accept.
pub trait WebhookRecords: Send + Sync {
    /// Returns the state of an endpoint; `None` if it has none yet.
    fn find_endpoint_state(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
    ) -> impl Future<Output = PortResult<Option<EndpointState>>> + Send;

    /// Lists the states of the endpoints of a tenant, or of all tenants (`None`), sorted by tenant and endpoint.
    fn list_endpoint_states(
        &self,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<EndpointState>>> + Send;

    /// Stores a state and events that the endpoint did not accept in one transaction. The `rev` of the state must be the stored one
    /// plus one; for a first write there must be none. So a state that was made again since is not replaced. [`WriteOutcome::Conflict`]: nothing was written.
    fn save_endpoint_state(
        &self,
        state: &EndpointState,
        failed: &[FailedEvent],
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Replaces an event that an endpoint did not accept. [`WriteOutcome::Conflict`]: it is not stored any more, or belongs to another
    /// generation of the endpoint, and nothing was written.
    fn replace_failed_event(
        &self,
        failed: &FailedEvent,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Removes an event of the same generation from those that an endpoint did not accept.
    fn remove_failed_event(&self, failed: &FailedEvent) -> impl Future<Output = PortResult<()>> + Send;

    /// Returns the event at this place that an endpoint did not accept.
    fn find_failed_event(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        cursor: EventCursor,
    ) -> impl Future<Output = PortResult<Option<FailedEvent>>> + Send;

    /// Lists the events that an endpoint did not accept and that are not expired, the oldest first.
    fn list_failed_events(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<FailedEvent>>> + Send;

    /// Lists those of them whose next attempt is due at `now`, the longest due first.
    fn list_due_failed_events(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        now: Timestamp,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<FailedEvent>>> + Send;

    /// Deletes all records of an endpoint: those of this generation, or (`None`) of whatever generation they are.
    fn delete_endpoint_records(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        generation: Option<u64>,
    ) -> impl Future<Output = PortResult<()>> + Send;
}
