//! The pass of one endpoint: posts what is next, and stores the results.

use futures::future::{join, join_all};
use jiff::Timestamp;
use recado_configuration::endpoint_state::{find_endpoint, load_listed_state};
use recado_domain::config::{Tenant, WebhookEndpoint};
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent, POSTS_AT_ONCE, PostError, PostResult};
use recado_pipeline::Deps;
use recado_ports::ports::{
    EndpointPost, EndpointPosts, LogPlace, LoggedEvent, PageRequest, PortResult, PublishedPage, WriteOutcome,
};
use recado_ports::records::configuration::list_entries;
use recado_ports::records::endpoints::{
    FAILED_EVENTS_PER_WRITE, delete_endpoint_records, find_endpoint_state, list_due_failed_events,
    list_endpoint_states, remove_failed_event, save_endpoint_state,
};
use recado_ports::table::{Versioned, write_record};
use std::collections::BTreeSet;

/// The number of events that a pass reads.
const PAGE: usize = 90;

/// The number of events that a pass gives up. Those that it sets aside are stored in the same write.
const GIVEN_UP: usize = FAILED_EVENTS_PER_WRITE - POSTS_AT_ONCE;

/// The number of events that are not wanted after which the place is stored though nothing was posted.
const SKIPPED_STORED: usize = 50;

/// The number of failed events that a pass tries again.
const RETRIED: usize = 8;

/// The number of tenants that are read at a time, and of states.
const TENANTS: usize = 200;
const STATES_MAX: usize = 100_000;

/// Returns all endpoints to which events are posted, each with its tenant.
pub async fn list_posted_endpoints(deps: &Deps) -> PortResult<Vec<(TenantId, WebhookEndpoint)>> {
    let (mut endpoints, mut next) = (Vec::new(), Some(PageRequest::first(TENANTS)));
    while let Some(page) = next {
        let found = list_entries::<Tenant>(deps.store(), None, &page).await?;
        for tenant in &found.items {
            let own = tenant.webhook_endpoints().iter().cloned();
            endpoints.extend(own.map(|endpoint| (tenant.id.clone(), endpoint)));
        }
        next = page.follow(found.next_cursor);
    }
    Ok(endpoints)
}

/// Removes the records of endpoints that are configured no more.
pub async fn remove_unknown_states(deps: &Deps) -> PortResult<()> {
    // The states first: an endpoint is configured before it gets one.
    let states = list_endpoint_states(deps.store(), None, STATES_MAX).await?;
    if states.is_empty() {
        return Ok(());
    }
    let configured: BTreeSet<(TenantId, WebhookEndpointId)> = list_posted_endpoints(deps)
        .await?
        .into_iter()
        .map(|(tenant, endpoint)| (tenant, endpoint.id))
        .collect();
    for state in states {
        let generation = state.generation();
        let place = (state.tenant, state.endpoint);
        if !configured.contains(&place) {
            let (tenant, endpoint) = &place;
            delete_endpoint_records(deps.store(), tenant, endpoint, generation).await?;
        }
    }
    Ok(())
}

/// The events of a page that the endpoint wants.
fn wanted<'a>(
    endpoint: &'a WebhookEndpoint,
    page: &'a PublishedPage,
) -> impl Iterator<Item = (EventCursor, &'a PublishedEvent)> {
    let wanted = move |logged: &&LoggedEvent| endpoint.wants_kind(logged.event.kind);
    let events = page.events.iter().filter(wanted);
    events.map(|logged| (logged.cursor, &logged.event))
}

/// Posts to one endpoint what is next and due. Returns `true` if more may follow at once. `id`: an endpoint that was listed before,
/// and that may have been changed since, or removed and made again.
pub async fn post_due_events(
    deps: &Deps,
    posts: &dyn EndpointPosts,
    tenant: &TenantId,
    id: &WebhookEndpointId,
) -> PortResult<bool> {
    let Some(mut stored) = load_listed_state(deps, tenant, id).await? else {
        return Ok(false);
    };
    // Read after the state. With an older entry, the events of a new endpoint would be posted to the URL of the one before.
    let Some(endpoint) = find_endpoint(deps, tenant, id).await? else {
        return Ok(false);
    };
    let endpoint = &endpoint;
    if endpoint.disabled {
        return forget_failures(deps, stored).await;
    }
    let state = &mut stored.record;
    if state.switched_off_at.is_some() {
        return Ok(false);
    }
    let store = deps.store();
    let page = store.list_published_events(Some(tenant), LogPlace::After(state.cursor), PAGE);
    let page = page.await?;
    let (before, was_failing) = (state.cursor, state.failures > 0);
    let now = deps.system().now();
    let mut left = state.give_up_old_events(wanted(endpoint, &page), now, GIVEN_UP);
    let poster = Poster {
        deps,
        posts,
        tenant,
        endpoint,
    };
    let (results, has_retried) = poster.run_posts(state, &page, now).await?;
    let now = deps.system().now();
    left.extend(state.note_results(&results, now));
    if !was_failing && state.failures > 0 {
        let error = state.error.as_deref().unwrap_or_default();
        tracing::warn!(%tenant, endpoint = %endpoint.id, error, "a webhook endpoint fails");
    }
    let needs = page
        .events
        .iter()
        .map(|logged| (logged.cursor, endpoint.wants_kind(logged.event.kind)));
    state.move_place(needs, page.next);
    let has_moved = state.cursor != before && page.events.len() >= SKIPPED_STORED;
    if results.is_empty() && left.is_empty() && !has_moved {
        return Ok(has_retried);
    }
    let failed = left.into_iter().filter_map(|left| {
        let logged = page.events.iter().find(|logged| logged.cursor == left.cursor)?;
        Some(FailedEvent::from_left(state, left, logged.event.clone(), now))
    });
    let failed: Vec<FailedEvent> = failed.collect();
    store_results(deps, stored, &failed).await?;
    let is_accepted = results.iter().any(|result| result.error.is_none());
    let has_more = has_moved && page.events.len() >= PAGE;
    Ok(is_accepted || !failed.is_empty() || has_more || has_retried)
}

/// Lets an endpoint that somebody disabled begin without failures when it is enabled again.
async fn forget_failures(deps: &Deps, mut stored: Versioned<EndpointState>) -> PortResult<bool> {
    if stored.record.failures > 0 || stored.record.switched_off_at.is_some() {
        stored.record.resume_posts(None);
        store_results(deps, stored, &[]).await?;
    }
    Ok(false)
}

/// Stores what a pass found. Where somebody else changed the state meanwhile, the next pass begins with that.
async fn store_results(
    deps: &Deps,
    mut stored: Versioned<EndpointState>,
    failed: &[FailedEvent],
) -> PortResult<()> {
    let written = save_endpoint_state(deps.store(), &mut stored, failed).await?;
    let state = &stored.record;
    if written == WriteOutcome::Written
        && let Some(at) = state.switched_off_at
    {
        let (tenant, endpoint) = (&state.tenant, &state.endpoint);
        tracing::error!(%tenant, %endpoint, %at, "a webhook endpoint was switched off");
    }
    Ok(())
}

/// The posts of one pass.
struct Poster<'a> {
    deps: &'a Deps,
    posts: &'a dyn EndpointPosts,
    tenant: &'a TenantId,
    endpoint: &'a WebhookEndpoint,
}

impl Poster<'_> {
    /// Posts what may be posted at `now`. Returns the results, and whether an event that failed before was accepted.
    async fn run_posts(
        &self,
        state: &EndpointState,
        page: &PublishedPage,
        now: Timestamp,
    ) -> PortResult<(Vec<PostResult>, bool)> {
        if !state.may_post(now) {
            return Ok((Vec::new(), false));
        }
        let chosen = state.choose_posts(wanted(self.endpoint, page), now);
        let mut retried = Vec::new();
        if state.failures == 0 {
            let (tenant, endpoint) = (self.tenant, &self.endpoint.id);
            let due = list_due_failed_events(self.deps.store(), tenant, endpoint, now, RETRIED);
            retried = due.await?;
            // The endpoint may have been removed and made again since its state was read.
            retried.retain(|failed| failed.record.generation == state.generation());
        }
        if chosen.is_empty() && retried.is_empty() {
            return Ok((Vec::new(), false));
        }
        let found = find_endpoint_state(self.deps.store(), self.tenant, &self.endpoint.id).await?;
        if found.is_none_or(|found| found.record.generation() != state.generation()) {
            return Ok((Vec::new(), false));
        }
        let new = self.post_chosen(state, page, &chosen);
        let (results, again) = join(new, self.post_again(state, retried)).await;
        Ok((results, again?))
    }

    async fn post_signed(&self, state: &EndpointState, event: &PublishedEvent) -> Result<(), PostError> {
        let now = self.deps.system().now();
        let salts = state.salts.list_valid_salts(now);
        let post = EndpointPost {
            tenant: self.tenant,
            endpoint: self.endpoint,
            salts: &salts,
            event,
            now,
            private_hosts: self.deps.settings().private_tools,
        };
        self.posts.post_event(post).await.map(drop)
    }

    /// Posts the chosen events of the page at once.
    async fn post_chosen(
        &self,
        state: &EndpointState,
        page: &PublishedPage,
        chosen: &[EventCursor],
    ) -> Vec<PostResult> {
        let is_chosen = |logged: &&LoggedEvent| chosen.contains(&logged.cursor);
        let posts = page.events.iter().filter(is_chosen).map(|logged| async move {
            PostResult {
                cursor: logged.cursor,
                error: self.post_signed(state, &logged.event).await.err(),
            }
        });
        join_all(posts).await
    }

    /// Posts events that failed before. Returns whether the endpoint accepted one.
    async fn post_again(
        &self,
        state: &EndpointState,
        failed: Vec<Versioned<FailedEvent>>,
    ) -> PortResult<bool> {
        let store = self.deps.store();
        let posts = failed.into_iter().map(|mut one| async move {
            match self.post_signed(state, &one.record.event).await {
                Ok(()) => remove_failed_event(store, &one).await.map(|()| true),
                Err(error) => {
                    one.record.note_failure(&error, self.deps.system().now());
                    let stored = write_record(store, &mut one).await;
                    // It may have been removed meanwhile, with the endpoint, or redriven.
                    stored.map(|_written_or_another| false)
                }
            }
        });
        let results: PortResult<Vec<bool>> = join_all(posts).await.into_iter().collect();
        Ok(results?.contains(&true))
    }
}
