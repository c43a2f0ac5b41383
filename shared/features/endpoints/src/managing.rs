//! Lists and shows endpoints with their states, and what people do with one.

use crate::WebhookError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use recado_configuration::endpoint_state::load_endpoint_state;
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::config::{Tenant, WEBHOOK_ENDPOINTS_MAX, WebhookEndpoint};
use recado_domain::ids::{Nonce, TenantId, WebhookEndpointId};
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::secret::{Secret, hmac_sha256};
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent, PostError};
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_action;
use recado_pipeline::steps::invited_tenant::choose_tenant;
use recado_ports::ports::{
    EndpointPost, EndpointPosts, LogPlace, Page, PageRequest, PortError, PortResult, PostAnswer,
};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::endpoints::{
    self, find_endpoint_state, find_failed_event, list_endpoint_states, redrive_failed_event,
    save_endpoint_state,
};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::Versioned;

/// An endpoint as it is configured, with the state of its posts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredEndpoint {
    /// The tenant.
    pub tenant: TenantId,
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
    /// The state of its posts; `None` if there was none yet.
    pub state: Option<EndpointState>,
}

/// Returns the tenant of a request about endpoints: the one that it names, else the caller's, else the only one.
pub async fn choose_endpoint_tenant(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
) -> Result<TenantId, WebhookError> {
    Ok(choose_tenant(deps, caller, named).await?.id)
}

/// Lists the endpoints of a tenant: the one that the request names, else the caller's, else the only one.
pub async fn list_endpoints(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
) -> Result<Vec<ConfiguredEndpoint>, WebhookError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let listed = list_endpoint_states(deps.store(), Some(&tenant.id), WEBHOOK_ENDPOINTS_MAX * 2);
    let states = listed.await?;
    let of_endpoint = |endpoint: &WebhookEndpoint| ConfiguredEndpoint {
        tenant: tenant.id.clone(),
        endpoint: endpoint.clone(),
        state: states.iter().find(|state| state.endpoint == endpoint.id).cloned(),
    };
    Ok(tenant.webhook_endpoints().iter().map(of_endpoint).collect())
}

fn describe_endpoint(
    tenant: Tenant,
    endpoint: WebhookEndpoint,
    state: Option<EndpointState>,
) -> ConfiguredEndpoint {
    ConfiguredEndpoint {
        tenant: tenant.id,
        endpoint,
        state,
    }
}

/// Returns an endpoint of a tenant within the caller's scope.
pub(super) async fn find_endpoint(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    id: &str,
) -> Result<(Tenant, WebhookEndpoint), WebhookError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let mut endpoints = tenant.webhook_endpoints().iter();
    let found = endpoints.find(|endpoint| endpoint.id.as_str() == id).cloned();
    let endpoint = found.ok_or(WebhookError::NoEndpoint)?;
    Ok((tenant, endpoint))
}

/// Returns an endpoint with the state of its posts, if it has one already.
pub async fn read_endpoint(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    id: &str,
) -> Result<ConfiguredEndpoint, WebhookError> {
    let (tenant, endpoint) = find_endpoint(deps, caller, named, id).await?;
    let state = find_endpoint_state(deps.store(), &tenant.id, &endpoint.id).await?;
    Ok(describe_endpoint(
        tenant,
        endpoint,
        state.map(|state| state.record),
    ))
}

/// Makes the state of a new endpoint: it is told what is published from now on.
pub async fn begin_posts(
    deps: &Deps,
    caller: &Caller,
    tenant: &TenantId,
    id: &str,
) -> Result<ConfiguredEndpoint, WebhookError> {
    let (tenant, endpoint) = find_endpoint(deps, caller, Some(tenant), id).await?;
    let state = load_endpoint_state(deps, &tenant.id, &endpoint.id).await?;
    Ok(describe_endpoint(tenant, endpoint, Some(state.record)))
}

fn audited(action: AuditAction, tenant: &TenantId, endpoint: &WebhookEndpointId) -> AuditedAction {
    action.on_object(Some(tenant), "webhook_endpoint", endpoint.as_str())
}

/// Reads the state of an endpoint, changes and stores it, again where a pass was faster.
async fn change_state(
    deps: &Deps,
    (tenant, endpoint): (&TenantId, &WebhookEndpointId),
    change: impl Fn(&mut EndpointState),
) -> PortResult<EndpointState> {
    retry_lost_write(PortError::contended("webhook endpoint"), (), |()| async {
        let mut state = load_endpoint_state(deps, tenant, endpoint).await?;
        change(&mut state.record);
        let written = save_endpoint_state(deps.store(), &mut state, &[]).await?;
        PortResult::Ok(WriteAttempt::after_write(written, state.record))
    })
    .await
}

/// Gives an endpoint a new signing secret. Posts are signed with the one before for `overlap` more.
pub async fn rotate_signing_secret(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    id: &str,
    overlap: SignedDuration,
) -> Result<ConfiguredEndpoint, WebhookError> {
    let (tenant, endpoint) = find_endpoint(deps, caller, named, id).await?;
    let done = audited(AuditAction::SecretRotated, &tenant.id, &endpoint.id);
    audit_action(deps, caller, done).await?;
    let now = deps.system().now();
    let state = change_state(deps, (&tenant.id, &endpoint.id), |state| {
        let salt = generate_nonce(deps.system());
        state.salts.rotate_salt(salt, overlap, now);
    })
    .await?;
    Ok(describe_endpoint(tenant, endpoint, Some(state)))
}

/// Lets an endpoint be posted to again at once: everything that was published since a time, or (`None`) from where it stopped.
pub async fn replay_events(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    id: &str,
    since: Option<Timestamp>,
) -> Result<ConfiguredEndpoint, WebhookError> {
    let (tenant, endpoint) = find_endpoint(deps, caller, named, id).await?;
    let done = audited(AuditAction::EventsReplayed, &tenant.id, &endpoint.id);
    let from = since.map_or_else(|| "where it stopped".to_owned(), |since| since.to_string());
    audit_action(deps, caller, done.with_result(from)).await?;
    let from = match since {
        Some(since) => {
            let place = LogPlace::Before(since);
            let log = deps.store().list_published_events(None, place, 0);
            Some(log.await?.next)
        }
        None => None,
    };
    let of = (&tenant.id, &endpoint.id);
    let state = change_state(deps, of, |state| state.resume_posts(from)).await?;
    Ok(describe_endpoint(tenant, endpoint, Some(state)))
}

/// Posts a test to an endpoint now, and returns the answer. The endpoint's state stays as it is.
pub async fn test_endpoint(
    deps: &Deps,
    caller: &Caller,
    posts: &dyn EndpointPosts,
    named: Option<&TenantId>,
    id: &str,
) -> Result<(PublishedEvent, Result<PostAnswer, PostError>), WebhookError> {
    let (tenant, endpoint) = find_endpoint(deps, caller, named, id).await?;
    let state = load_endpoint_state(deps, &tenant.id, &endpoint.id).await?;
    let done = audited(AuditAction::WebhookTested, &tenant.id, &endpoint.id);
    audit_action(deps, caller, done).await?;
    let now = deps.system().now();
    let nonce = generate_nonce(deps.system());
    let event = PublishedEvent::for_test(&tenant.id, nonce.as_str(), now);
    let salts = state.record.salts.list_valid_salts(now);
    let post = EndpointPost {
        tenant: &tenant.id,
        endpoint: &endpoint,
        salts: &salts,
        event: &event,
        now,
        private_hosts: deps.settings().private_tools,
    };
    let answer = posts.post_event(post).await;
    Ok((event, answer))
}

/// The number of failed events that are read at a time.
const PAGE: usize = 200;

/// The failed events that are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedChoice {
    /// The one of this place.
    One(EventCursor),
    /// All that were given up.
    All,
}

/// Lists the events that an endpoint did not accept: those that are tried on, and those that were given up.
pub async fn list_failed_events(
    deps: &Deps,
    caller: &Caller,
    (named, id): (Option<&TenantId>, &str),
    page: &PageRequest,
) -> Result<Page<FailedEvent>, WebhookError> {
    let (tenant, endpoint) = find_endpoint(deps, caller, named, id).await?;
    let found = endpoints::list_failed_events(deps.store(), &tenant.id, &endpoint.id, page).await?;
    Ok(found.map(|found| found.record))
}

/// Lets failed events be tried again at once and for as long as the first time. Returns how many.
pub async fn redrive_failed_events(
    deps: &Deps,
    caller: &Caller,
    (named, id): (Option<&TenantId>, &str),
    choice: FailedChoice,
) -> Result<usize, WebhookError> {
    let (tenant, endpoint) = find_endpoint(deps, caller, named, id).await?;
    let store = deps.store();
    let mut chosen = Vec::new();
    match choice {
        FailedChoice::One(cursor) => {
            let found = find_failed_event(store, &tenant.id, &endpoint.id, cursor).await?;
            chosen.push(found.ok_or(WebhookError::NoFailedEvent)?);
        }
        FailedChoice::All => {
            let mut next = Some(PageRequest::first(PAGE));
            while let Some(page) = next {
                let found = endpoints::list_failed_events(store, &tenant.id, &endpoint.id, &page).await?;
                let given_up = |failed: &Versioned<FailedEvent>| failed.record.next_at.is_none();
                chosen.extend(found.items.into_iter().filter(given_up));
                next = page.follow(found.next_cursor);
            }
        }
    }
    let count = chosen.len();
    let done =
        AuditAction::DeadLetterRedriven.on_object(Some(&tenant.id), "webhook_endpoint", endpoint.id.as_str());
    audit_action(deps, caller, done.with_result(format!("{count} failed events"))).await?;
    let now = deps.system().now();
    let mut redriven = 0;
    for failed in &chosen {
        redriven += usize::from(redrive_failed_event(store, failed, now).await?);
    }
    Ok(redriven)
}

/// Derives a signing secret of an endpoint: `whsec_` and base64 of HMAC-SHA256(master, `recado:endpoint:{salt}:{tenant}:{endpoint}`).
///
/// The salt is random and stored with the endpoint, the master is not: a copy of the records signs nothing.
pub fn derive_signing_secret(
    master: &Secret,
    (tenant, endpoint): (&TenantId, &WebhookEndpointId),
    salt: &Nonce,
) -> Secret {
    let named = format!("recado:endpoint:{}:{tenant}:{endpoint}", salt.as_str());
    let key = hmac_sha256(master.expose_secret().as_bytes(), named.as_bytes());
    Secret::from_generated(format!("whsec_{}", STANDARD.encode(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed apart from this code: `printf 'recado:endpoint:salt:clinic:crm' | openssl dgst -sha256 -hmac master -binary | base64`.
    #[test]
    fn a_signing_secret_is_known_and_another_for_each_salt_endpoint_and_master() {
        let derive = |master: &str, tenant: &str, endpoint: &str, salt: &str| {
            let tenant = TenantId::parse(tenant).expect("an id");
            let endpoint = WebhookEndpointId::parse(endpoint).expect("an id");
            let salt = Nonce::parse(salt).expect("a nonce");
            let master = Secret::new(master).expect("a secret");
            let secret = derive_signing_secret(&master, (&tenant, &endpoint), &salt);
            secret.expose_secret().to_owned()
        };
        let first = derive("master", "clinic", "crm", "salt");
        assert_eq!(first, "whsec_+wiXW57RVUl4ZZU1HRo0KfDvnn9M5Kdi7gf8Ttce9/Y=");
        for other in [
            derive("other", "clinic", "crm", "salt"),
            derive("master", "shop", "crm", "salt"),
            derive("master", "clinic", "erp", "salt"),
            derive("master", "clinic", "crm", "new"),
        ] {
            assert_ne!(first, other);
        }
    }
}
