//! Outgoing webhooks: posts the published events of a tenant to its endpoints, and what people do about that.
//!
//! Each endpoint has a state with its place in the log of events ([`recado_domain::webhook_endpoint`]). A pass posts what is next and
//! then stores the results, so a crash repeats what was under way and loses nothing. The endpoints themselves are configuration.

mod failed_events;
mod managing;
mod posting;
mod serving;
mod signing;

pub use failed_events::{FailedChoice, list_failed_events, redrive_failed_events};
pub use managing::{
    ConfiguredEndpoint, begin_posts, choose_endpoint_tenant, list_endpoints, read_endpoint, replay_events,
    rotate_signing_secret, test_endpoint,
};
pub use posting::{list_posted_endpoints, post_due_events, remove_unknown_states};
pub use serving::{handle_endpoint_job, list_due_jobs, list_jobs_of_news};
pub use signing::derive_signing_secret;

use crate::Deps;
use crate::steps::invited_tenant::TenantChoiceError;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::webhook_endpoint::EndpointState;
use recado_ports::ports::{PortError, PortResult, PublishedEvents, WebhookRecords, WriteOutcome};
use recado_ports::random_id::generate_nonce;

/// The reason why a request about an endpoint was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The request has no tenant.
    #[error(transparent)]
    Tenant(#[from] TenantChoiceError),
    /// There is no such endpoint.
    #[error("there is no such webhook endpoint")]
    NoEndpoint,
    /// The endpoint has no such failed event.
    #[error("this endpoint has no such failed event")]
    NoFailedEvent,
    /// The store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Returns the state of an endpoint. A new endpoint gets one, and is told what is published from now on.
async fn load_state(
    deps: &impl Deps,
    tenant: &TenantId,
    endpoint: &WebhookEndpointId,
) -> PortResult<EndpointState> {
    let store = deps.store();
    if let Some(state) = store.find_endpoint_state(tenant, endpoint).await? {
        return Ok(state);
    }
    let newest = store.find_newest_cursor(Some(tenant)).await?;
    let mut state = EndpointState::start_at(tenant, endpoint, newest, generate_nonce(deps.system()));
    state.raise_revision();
    if store.save_endpoint_state(&state, &[]).await? == WriteOutcome::Written {
        return Ok(state);
    }
    // Another process made it meanwhile.
    let made = store.find_endpoint_state(tenant, endpoint).await?;
    made.ok_or_else(|| PortError::contended("webhook endpoint"))
}
