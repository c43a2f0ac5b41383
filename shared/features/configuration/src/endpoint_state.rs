//! Reads the states of webhook endpoints, and makes those of new ones.

use recado_domain::config::WebhookEndpoint;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::webhook_endpoint::EndpointState;
use recado_pipeline::Deps;
use recado_pipeline::steps::invited_tenant::find_tenant;
use recado_ports::ports::{LogPlace, PortError, PortResult, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::endpoints::{delete_endpoint_records, find_endpoint_state, save_endpoint_state};
use recado_ports::table::Versioned;

/// Returns the state of an endpoint. A new endpoint gets one, and is told what is published from now on.
pub async fn load_endpoint_state(
    deps: &Deps,
    tenant: &TenantId,
    endpoint: &WebhookEndpointId,
) -> PortResult<Versioned<EndpointState>> {
    let store = deps.store();
    if let Some(state) = find_endpoint_state(store, tenant, endpoint).await? {
        return Ok(state);
    }
    let newest = store.list_published_events(None, LogPlace::Newest, 0).await?.next;
    let state = EndpointState::start_at(tenant, endpoint, newest, generate_nonce(deps.system()));
    let mut state = Versioned::new(state);
    if save_endpoint_state(store, &mut state, &[]).await? == WriteOutcome::Written {
        return Ok(state);
    }
    // Another process made it meanwhile.
    let made = find_endpoint_state(store, tenant, endpoint).await?;
    made.ok_or_else(|| PortError::contended("webhook endpoint"))
}

/// Makes the state of an endpoint that was added to the configuration just now. A state that is there belongs to one that had the name
/// before, or to nobody who was told its secret.
pub async fn begin_endpoint_state(
    deps: &Deps,
    tenant: &TenantId,
    endpoint: &WebhookEndpointId,
) -> PortResult<Versioned<EndpointState>> {
    let store = deps.store();
    if let Some(left) = find_endpoint_state(store, tenant, endpoint).await? {
        delete_endpoint_records(store, tenant, endpoint, left.record.generation()).await?;
    }
    load_endpoint_state(deps, tenant, endpoint).await
}

/// Returns the state of an endpoint that was listed before. `None`: it was removed since, and a state that was made for it here is
/// removed again, since an endpoint that gets the name later is another one.
pub async fn load_listed_state(
    deps: &Deps,
    tenant: &TenantId,
    endpoint: &WebhookEndpointId,
) -> PortResult<Option<Versioned<EndpointState>>> {
    let store = deps.store();
    if let Some(state) = find_endpoint_state(store, tenant, endpoint).await? {
        return Ok(Some(state));
    }
    let state = load_endpoint_state(deps, tenant, endpoint).await?;
    if find_endpoint(deps, tenant, endpoint).await?.is_some() {
        return Ok(Some(state));
    }
    delete_endpoint_records(store, tenant, endpoint, state.record.generation()).await?;
    Ok(None)
}

/// Returns an endpoint as it is configured now; `None` if it is not.
pub async fn find_endpoint(
    deps: &Deps,
    tenant: &TenantId,
    endpoint: &WebhookEndpointId,
) -> PortResult<Option<WebhookEndpoint>> {
    let configured = find_tenant(deps, tenant).await?;
    Ok(configured.and_then(|tenant| {
        let mut endpoints = tenant.webhook_endpoints().iter();
        endpoints.find(|known| known.id == *endpoint).cloned()
    }))
}
