//! The jobs that name an endpoint, for places where no process looks at all endpoints: each is posted to when its job comes.

use crate::posting::{list_posted_endpoints, post_due_events};
use jiff::{SignedDuration, Timestamp};
use recado_configuration::endpoint_state::load_listed_state;
use recado_domain::config::WEBHOOK_ENDPOINTS_MAX;
use recado_domain::ids::TenantId;
use recado_domain::millis::add_duration;
use recado_domain::wake_up::EndpointJob;
use recado_pipeline::Deps;
use recado_pipeline::steps::invited_tenant::find_tenant;
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_pipeline::steps::verdict::Verdict;
use recado_ports::ports::{EndpointPosts, LogPlace, PortResult};
use recado_ports::records::endpoints::{find_endpoint_state, list_due_failed_events, list_endpoint_states};

/// Time that a pass may take: the longest post, and the requests to the store around it.
const PASS_TIME: SignedDuration = SignedDuration::from_secs(15);

/// Handles the job of an endpoint: posts what is due, as long as there is time until `deadline`. The job comes back when the next
/// attempt is due. A body that is no such job is dropped: what is due is found without it.
pub async fn handle_endpoint_job(
    deps: &Deps,
    posts: &dyn EndpointPosts,
    body: &str,
    deadline: Option<Timestamp>,
) -> Verdict {
    let job: EndpointJob = match serde_json::from_str(body) {
        Ok(job) => job,
        Err(error) => {
            tracing::error!(%error, "a job of a webhook endpoint was not understood");
            return Verdict::Done;
        }
    };
    match serve_endpoint(deps, posts, &job, deadline).await {
        Ok(verdict) => verdict,
        Err(error) => {
            let EndpointJob { tenant, endpoint } = &job;
            tracing::warn!(%tenant, %endpoint, %error, "a webhook endpoint could not be served");
            Verdict::RETRY_SOON
        }
    }
}

async fn serve_endpoint(
    deps: &Deps,
    posts: &dyn EndpointPosts,
    job: &EndpointJob,
    deadline: Option<Timestamp>,
) -> PortResult<Verdict> {
    let Some(tenant) = find_tenant(deps, &job.tenant).await? else {
        return Ok(Verdict::Done);
    };
    let mut endpoints = tenant.webhook_endpoints().iter();
    let Some(endpoint) = endpoints.find(|endpoint| endpoint.id == job.endpoint) else {
        return Ok(Verdict::Done);
    };
    while post_due_events(deps, posts, &tenant.id, &endpoint.id).await? {
        let pass_ends = add_duration(deps.system().now(), PASS_TIME);
        if deadline.is_some_and(|deadline| pass_ends > deadline) {
            return Ok(Verdict::RETRY_SOON);
        }
    }
    let state = find_endpoint_state(deps.store(), &tenant.id, &endpoint.id).await?;
    let waits = state.filter(|state| state.record.switched_off_at.is_none() && !endpoint.disabled);
    let next = waits.and_then(|state| state.record.next_at);
    let now = deps.system().now();
    Ok(next
        .filter(|next| *next > now)
        .map_or(Verdict::Done, |next| Verdict::retry_at(next, now)))
}

/// Lists the jobs of the endpoints that may be posted to, of tenants of which events were published just now.
pub async fn list_jobs_of_news(
    deps: &Deps,
    tenants: impl Iterator<Item = &TenantId>,
) -> PortResult<Vec<EndpointJob>> {
    let (mut jobs, now) = (Vec::new(), deps.system().now());
    for tenant in tenants {
        let states = list_endpoint_states(deps.store(), Some(tenant), WEBHOOK_ENDPOINTS_MAX * 2);
        let due = states.await?.into_iter().filter(|state| state.may_post(now));
        jobs.extend(due.map(|state| EndpointJob {
            tenant: state.tenant,
            endpoint: state.endpoint,
        }));
    }
    Ok(jobs)
}

/// Lists the jobs of all endpoints that have something to be posted now. It finds what a lost job left.
pub async fn list_due_jobs(deps: &Deps) -> PortResult<Vec<EndpointJob>> {
    let (mut jobs, store) = (Vec::new(), deps.store());
    for (tenant, endpoint) in list_posted_endpoints(deps).await? {
        if endpoint.disabled {
            continue;
        }
        // A state that cannot be read holds up its own endpoint alone.
        let state = load_listed_state(deps, &tenant, &endpoint.id).await;
        let Some(state) = pass_over_unreadable(state)?.map(|state| state.record) else {
            continue;
        };
        let now = deps.system().now();
        if !state.may_post(now) {
            continue;
        }
        let page = store
            .list_published_events(Some(&tenant), LogPlace::After(state.cursor), 1)
            .await?;
        let is_due = !page.events.is_empty()
            || !list_due_failed_events(store, &tenant, &endpoint.id, now, 1)
                .await?
                .is_empty();
        if is_due {
            jobs.push(EndpointJob {
                tenant,
                endpoint: endpoint.id,
            });
        }
    }
    Ok(jobs)
}
