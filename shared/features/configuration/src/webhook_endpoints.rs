//! Adds, replaces and removes single endpoints among those of a tenant, to which its published events are posted.

use crate::endpoint_state::load_endpoint_state;
use crate::{
    ApplyOptions, AskedParties, ConfigureError, EntryMatch, change_entry, compute_version, find_entry,
};
use recado_domain::access::Caller;
use recado_domain::config::{ConfigDocument, ConfigEntry, Tenant, WebhookEndpoint};
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_pipeline::Deps;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// The words for a single endpoint in errors.
const KIND: &str = "webhook endpoint";

/// A change of the endpoints of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointChange {
    /// Adds an endpoint.
    Create(WebhookEndpoint),
    /// Replaces the endpoint with the same id.
    Replace(WebhookEndpoint),
    /// Removes the endpoint with this id.
    Remove(WebhookEndpointId),
}

impl EndpointChange {
    /// Returns the endpoints after the change.
    fn apply_to(&self, before: &[WebhookEndpoint]) -> Result<Vec<WebhookEndpoint>, ConfigureError> {
        let id = match self {
            Self::Create(endpoint) | Self::Replace(endpoint) => &endpoint.id,
            Self::Remove(id) => id,
        };
        let mut after = before.to_vec();
        let place = after.iter().position(|known| known.id == *id);
        match (self, place) {
            (Self::Create(endpoint), None) => after.push(endpoint.clone()),
            (Self::Create(_), Some(_)) => return Err(ConfigureError::Exists(KIND)),
            (Self::Replace(endpoint), Some(place)) => after[place] = endpoint.clone(),
            (Self::Remove(_), Some(place)) => {
                after.remove(place);
            }
            (Self::Replace(_) | Self::Remove(_), None) => return Err(ConfigureError::NotFound(KIND)),
        }
        Ok(after)
    }
}

/// Changes the endpoints of a tenant, with the checks and the audit of a document that holds the tenant.
pub async fn change_webhook_endpoints(
    deps: &Deps,
    caller: &Caller,
    tenant: &TenantId,
    change: &EndpointChange,
) -> Result<(), ConfigureError> {
    retry_lost_write(ConfigureError::Changed(Tenant::KIND), (), |()| async {
        let mut known: Tenant = find_entry(deps, caller, tenant.as_str()).await?;
        let as_read = EntryMatch::Versions(vec![compute_version(&known)]);
        let after = change.apply_to(known.webhook_endpoints());
        if let (Err(ConfigureError::Exists(_)), EndpointChange::Create(endpoint)) = (&after, change) {
            // Who added it may have been cut off. Who is told that it is there is told of what is published from now on.
            load_endpoint_state(deps, tenant, &endpoint.id).await?;
        }
        known.webhooks = Some(after?);
        match change_entry(deps, caller, known, &as_read, AskedParties::Nobody).await {
            Err(ConfigureError::Changed(_)) => Ok(WriteAttempt::Lost(())),
            done => done.map(|_| WriteAttempt::Done(())),
        }
    })
    .await
}

/// Leaves the endpoints of tenants as they are where the document does not speak of them. With `prune` they go, as all else does.
pub(super) fn settle_endpoints(change: &mut ConfigDocument, known: &ConfigDocument, options: ApplyOptions) {
    if options.prune {
        change.keep_webhook_endpoints(&ConfigDocument::default());
    } else {
        change.keep_webhook_endpoints(known);
    }
}
