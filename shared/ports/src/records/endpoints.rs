//! The posts to webhook endpoints of tenants: a state of each endpoint, and the events that it did not accept.

mod failed_events;

pub use failed_events::{
    find_failed_event, list_due_failed_events, list_failed_events, redrive_failed_event, remove_failed_event,
};

use crate::ports::{PageRequest, PortResult, WriteOutcome};
use crate::table::{
    IndexEntry, Key, Partition, Query, Record, Table, Versioned, WRITES_MAX, find_with_version, list_records,
    remove_latest_record, save_record_with,
};
use failed_events::{delete_failed_events, list_event_writes};
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent};

/// The partition in which the states of all endpoints are listed, sorted by tenant.
const ALL: &str = "endpoints.all";

/// The number of failed events that one call of [`save_endpoint_state`] stores at most. The state takes two writes, and an event three:
/// its own, and those of what leads to it and of what led to it before.
pub const FAILED_EVENTS_PER_WRITE: usize = (WRITES_MAX - 2) / 3;

impl Record for EndpointState {
    const KIND: &'static str = "endpoints";
    const INDEXES: &'static [&'static str] = &[ALL];
    const HAS_TIMES: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.endpoint.to_string()
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let place = format!("{}#{}", self.tenant, self.endpoint);
        vec![IndexEntry::new(Key::new(ALL, None, place)).shared()]
    }

    fn set_times_back(&mut self, back: ClockRollback) -> bool {
        back.correct_endpoint(self)
    }
}

/// Returns the state of an endpoint; `None` if it has none yet.
pub async fn find_endpoint_state(
    table: &dyn Table,
    tenant: &TenantId,
    endpoint: &WebhookEndpointId,
) -> PortResult<Option<Versioned<EndpointState>>> {
    find_with_version(table, Some(tenant), endpoint.as_str()).await
}

/// Lists the states of the endpoints of a tenant, sorted by endpoint, or of all tenants (`None`), at most `limit`.
pub async fn list_endpoint_states(
    table: &dyn Table,
    tenant: Option<&TenantId>,
    limit: usize,
) -> PortResult<Vec<EndpointState>> {
    let page = PageRequest::first(limit);
    let name = if tenant.is_some() {
        EndpointState::KIND
    } else {
        ALL
    };
    let query = Query::new(Partition::new(name, tenant), limit);
    Ok(list_records(table, query, &page, |_| true).await?.items)
}

/// Stores a state and events that the endpoint did not accept in one transaction: at most [`FAILED_EVENTS_PER_WRITE`] events. A state that
/// was made again since is not replaced. [`WriteOutcome::Conflict`]: another writer changed the state or one of these events since it was
/// read, and nothing was written. Afterwards `state` may be changed and saved again.
pub async fn save_endpoint_state(
    table: &dyn Table,
    state: &mut Versioned<EndpointState>,
    failed: &[FailedEvent],
) -> PortResult<WriteOutcome> {
    let events = list_event_writes(table, failed).await?;
    Ok(save_record_with(table, state, events).await?.into())
}

/// Deletes all records of a generation of an endpoint.
pub async fn delete_endpoint_records(
    table: &dyn Table,
    tenant: &TenantId,
    endpoint: &WebhookEndpointId,
    generation: u64,
) -> PortResult<()> {
    delete_failed_events(table, (tenant, endpoint), generation).await?;
    let found = find_endpoint_state(table, tenant, endpoint).await?;
    remove_latest_record(table, found, |state| state.generation() == generation).await
}
