use super::FaultyPort;
use crate::mutation::Mutation;
use jiff::Timestamp;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::published_event::EventCursor;
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent};
use recado_pipeline::ports::{
    Page, PageRequest, PortResult, PublishedEvents, PublishedPage, Store, WebhookRecords, WriteOutcome,
};
use recado_testkit::delegate_calls;

impl<S: Store> FaultyPort<S> {
    /// The state as it would follow the one that has the name by now, for a mutation.
    async fn follow_any_state(&self, state: &EndpointState) -> PortResult<EndpointState> {
        let mut state = state.clone();
        let stored = self.inner.find_endpoint_state(&state.tenant, &state.endpoint);
        if let Some(other) = stored
            .await?
            .filter(|stored| stored.generation() != state.generation())
        {
            state.rev = other.rev + 1;
        }
        Ok(state)
    }

    /// Stores a failed event as one of the endpoint that has the name by now, for a mutation.
    async fn put_failed_event(&self, failed: &FailedEvent) -> PortResult<WriteOutcome> {
        let stored = self.inner.find_endpoint_state(&failed.tenant, &failed.endpoint);
        let Some(mut state) = stored.await? else {
            return Ok(WriteOutcome::Conflict);
        };
        let failed = FailedEvent {
            generation: state.generation(),
            ..failed.clone()
        };
        state.raise_revision();
        self.inner.save_endpoint_state(&state, &[failed]).await
    }
}

impl<S: Store> WebhookRecords for FaultyPort<S> {
    async fn save_endpoint_state(
        &self,
        state: &EndpointState,
        failed: &[FailedEvent],
    ) -> PortResult<WriteOutcome> {
        let is_pass = self.injector.function == "poster";
        let effect = async {
            if is_pass && self.injector.lacks(Mutation::PlaceForgotten) {
                return Ok(WriteOutcome::Written);
            }
            if self.injector.lacks(Mutation::StateOfOthers) {
                let state = self.follow_any_state(state).await?;
                return self.inner.save_endpoint_state(&state, failed).await;
            }
            self.inner.save_endpoint_state(state, failed).await
        };
        self.around("save_endpoint_state", effect).await
    }

    async fn replace_failed_event(&self, failed: &FailedEvent) -> PortResult<WriteOutcome> {
        let effect = async {
            if self.injector.lacks(Mutation::FailedOfOthers) {
                return self.put_failed_event(failed).await;
            }
            self.inner.replace_failed_event(failed).await
        };
        self.around("replace_failed_event", effect).await
    }

    delegate_calls! {
        find_endpoint_state(tenant: &TenantId, endpoint: &WebhookEndpointId) -> Option<EndpointState>;
        list_endpoint_states(tenant: Option<&TenantId>, limit: usize) -> Vec<EndpointState>;
        remove_failed_event(failed: &FailedEvent) -> ();
        find_failed_event(tenant: &TenantId, endpoint: &WebhookEndpointId, cursor: EventCursor) -> Option<FailedEvent>;
        list_failed_events(tenant: &TenantId, endpoint: &WebhookEndpointId, page: &PageRequest) -> Page<FailedEvent>;
        list_due_failed_events(tenant: &TenantId, endpoint: &WebhookEndpointId, now: Timestamp, limit: usize)
            -> Vec<FailedEvent>;
        delete_endpoint_records(tenant: &TenantId, endpoint: &WebhookEndpointId, generation: Option<u64>) -> ();
    }
}

impl<S: Store> PublishedEvents for FaultyPort<S> {
    async fn list_published_events(
        &self,
        tenant: Option<&TenantId>,
        after: EventCursor,
        limit: usize,
    ) -> PortResult<PublishedPage> {
        let tenant = tenant.filter(|_| !self.injector.lacks(Mutation::EventsOfAllTenants));
        let listed = self.inner.list_published_events(tenant, after, limit);
        self.around("list_published_events", listed).await
    }

    delegate_calls! {
        find_cursor_before(since: Timestamp) -> EventCursor;
        find_newest_cursor(tenant: Option<&TenantId>) -> EventCursor;
    }
}
