//! Forgets the webhook endpoints that leave the configuration, and begins those that are new.

use crate::endpoint_state::{begin_endpoint_state, load_endpoint_state};
use recado_domain::config::{ConfigDocument, Tenant, WEBHOOK_ENDPOINTS_MAX, WebhookEndpoint};
use recado_domain::webhook_endpoint::EndpointState;
use recado_pipeline::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::endpoints::{delete_endpoint_records, list_endpoint_states};

/// Lists the states of the endpoints of the tenants in `change`. They are read before the configuration, so that a state whose endpoint
/// that does not hold belongs to one of before.
pub(super) async fn list_states_before(
    deps: &Deps,
    change: &ConfigDocument,
) -> PortResult<Vec<EndpointState>> {
    let mut states = Vec::new();
    for tenant in &change.tenants {
        let listed = list_endpoint_states(deps.store(), Some(&tenant.id), WEBHOOK_ENDPOINTS_MAX * 2);
        states.extend(listed.await?);
    }
    Ok(states)
}

/// Deletes what is stored of endpoints that are not configured, before an endpoint gets the name of one of them. A crash may have left it.
pub(super) async fn forget_left_endpoints(
    deps: &Deps,
    states: &[EndpointState],
    known: &ConfigDocument,
) -> PortResult<()> {
    for state in states {
        let endpoints = list_endpoints(known, state);
        if !endpoints.iter().any(|known| known.id == state.endpoint) {
            delete_records(deps, state).await?;
        }
    }
    Ok(())
}

/// Deletes what is stored of the endpoints that a change of the configuration removed: their places, secrets and failed events. One
/// that gets the name later is another endpoint. What a crash leaves here is found later.
///
/// The endpoints that the change added get their places, so that they are told what is published from now on. So do those that have none
/// since who added them was cut off: who repeats the change is told that they are there.
pub(super) async fn follow_endpoint_changes(
    deps: &Deps,
    states: &[EndpointState],
    known: &ConfigDocument,
    change: &ConfigDocument,
) -> PortResult<()> {
    for tenant in &change.tenants {
        let before = known.tenants.iter().find(|before| before.id == tenant.id);
        let before = before.map(Tenant::webhook_endpoints).unwrap_or_default();
        let after = tenant.webhook_endpoints();
        for state in states.iter().filter(|state| state.tenant == tenant.id) {
            let is_it = |endpoint: &WebhookEndpoint| is_state_of(state, tenant, endpoint);
            if before.iter().any(is_it) && !after.iter().any(is_it) {
                delete_records(deps, state).await?;
            }
        }
        for endpoint in after {
            if !before.iter().any(|known| known.id == endpoint.id) {
                begin_endpoint_state(deps, &tenant.id, &endpoint.id).await?;
            } else if !states.iter().any(|state| is_state_of(state, tenant, endpoint)) {
                load_endpoint_state(deps, &tenant.id, &endpoint.id).await?;
            }
        }
    }
    Ok(())
}

fn is_state_of(state: &EndpointState, tenant: &Tenant, endpoint: &WebhookEndpoint) -> bool {
    state.tenant == tenant.id && state.endpoint == endpoint.id
}

fn list_endpoints<'a>(known: &'a ConfigDocument, of: &EndpointState) -> &'a [WebhookEndpoint] {
    let mut tenants = known.tenants.iter();
    let tenant = tenants.find(|tenant| tenant.id == of.tenant);
    tenant.map(Tenant::webhook_endpoints).unwrap_or_default()
}

async fn delete_records(deps: &Deps, state: &EndpointState) -> PortResult<()> {
    delete_endpoint_records(deps.store(), &state.tenant, &state.endpoint, state.generation()).await
}
