//! Records of the posts to endpoints: a state that is written on condition, and the events that were not accepted.

use super::given::{assert_conflict, assert_written};
use crate::builders::{Fixture, at, fresh, nonce};
use crate::ports::succeed;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::millis::{add_millis, from_unix_millis};
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent, PostError};
use recado_ports::ports::{PageRequest, Store, WriteOutcome};

/// A time at which records that failed then are not expired by any clock.
const AHEAD: i64 = 4_102_444_800_000;

fn state() -> EndpointState {
    let tenant = Fixture::new().bound.tenant.id;
    let endpoint = WebhookEndpointId::parse(&fresh("crm")).unwrap();
    let mut state = EndpointState::start_at(&tenant, &endpoint, EventCursor(7), nonce());
    state.raise_revision();
    state
}

/// An event of this place that the endpoint did not accept. `next_at`: minutes after which it is tried again.
fn failed(of: &EndpointState, cursor: u64, next_at: Option<i64>) -> FailedEvent {
    FailedEvent {
        tenant: of.tenant.clone(),
        endpoint: of.endpoint.clone(),
        generation: of.generation(),
        cursor: EventCursor(cursor),
        event: PublishedEvent::for_test(&of.tenant, &fresh("event"), at(1)),
        since: at(1),
        failed_at: from_unix_millis(AHEAD),
        attempts: 3,
        next_at: next_at.map(|minutes| at(minutes * 60_000)),
        error: "it answered 500".to_owned(),
    }
}

async fn save<S: Store>(store: &S, state: &EndpointState, failed: &[FailedEvent]) {
    assert_written(store.save_endpoint_state(state, failed)).await;
}

async fn list<S: Store>(store: &S, of: &EndpointState) -> Vec<FailedEvent> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = PageRequest { limit: 2, cursor };
        let page = succeed(store.list_failed_events(&of.tenant, &of.endpoint, &page)).await;
        assert!(page.items.len() <= 2);
        found.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return found;
        }
    }
}

pub async fn a_state_is_written_if_it_follows_the_stored_one<S: Store>(store: &S) {
    let first = state();
    let find = async || succeed(store.find_endpoint_state(&first.tenant, &first.endpoint)).await;
    assert_eq!(find().await, None);
    let mut second = first.clone();
    second.cursor = EventCursor(9);
    second.raise_revision();
    let early = succeed(store.save_endpoint_state(&second, &[])).await;
    assert_eq!(early, WriteOutcome::Conflict, "there is nothing to follow");
    for (state, expected) in [
        (&first, WriteOutcome::Written),
        (&first, WriteOutcome::Conflict),
        (&second, WriteOutcome::Written),
        (&second, WriteOutcome::Conflict),
    ] {
        assert_eq!(succeed(store.save_endpoint_state(state, &[])).await, expected);
    }
    assert_eq!(find().await, Some(second));
}

pub async fn an_endpoint_that_is_made_again_gets_nothing_of_the_one_before<S: Store>(store: &S) {
    let first = state();
    let of_first = failed(&first, 8, Some(5));
    save(store, &first, std::slice::from_ref(&of_first)).await;
    succeed(store.delete_endpoint_records(&first.tenant, &first.endpoint, None)).await;
    let (tenant, endpoint) = (&first.tenant, &first.endpoint);
    let mut again = EndpointState::start_at(tenant, endpoint, EventCursor(7), nonce());
    again.raise_revision();
    let of_again = failed(&again, 8, None);
    save(store, &again, std::slice::from_ref(&of_again)).await;
    // A pass that began before ends now. It is at the same write.
    let mut late = first.clone();
    late.raise_revision();
    assert_conflict(store.save_endpoint_state(&late, &[failed(&first, 9, None)])).await;
    assert_conflict(store.replace_failed_event(&of_first)).await;
    succeed(store.remove_failed_event(&of_first)).await;
    // Nor does a late removal of the first take anything of the second.
    let of_before = Some(first.generation());
    succeed(store.delete_endpoint_records(tenant, endpoint, of_before)).await;
    let found = succeed(store.find_endpoint_state(tenant, endpoint)).await;
    assert_eq!(
        (found.as_ref(), list(store, &again).await),
        (Some(&again), vec![of_again])
    );
}

/// As states and events were written before they had a generation.
pub async fn an_endpoint_of_before_generations_goes_on<S: Store>(store: &S) {
    let mut state = state();
    state.rev = 1;
    let mut event = failed(&state, 8, None);
    assert_eq!(event.generation, 0);
    save(store, &state, std::slice::from_ref(&event)).await;
    state.raise_revision();
    save(store, &state, &[]).await;
    event.redrive_event(from_unix_millis(AHEAD));
    assert_written(store.replace_failed_event(&event)).await;
    assert_eq!(list(store, &state).await, [event.clone()]);
    succeed(store.remove_failed_event(&event)).await;
    assert_eq!(list(store, &state).await, []);
}

pub async fn states_are_listed_by_tenant<S: Store>(store: &S) {
    let (one, mut sibling, other) = (state(), state(), state());
    sibling.tenant = one.tenant.clone();
    for state in [&one, &sibling, &other] {
        let written = succeed(store.save_endpoint_state(state, &[])).await;
        assert_eq!(written, WriteOutcome::Written);
    }
    let list = async |tenant: Option<&TenantId>| {
        let found = succeed(store.list_endpoint_states(tenant, 10_000)).await;
        found.into_iter().map(|state| state.endpoint).collect::<Vec<_>>()
    };
    let mut own = vec![one.endpoint.clone(), sibling.endpoint.clone()];
    own.sort_unstable();
    assert_eq!(list(Some(&one.tenant)).await, own);
    let all = list(None).await;
    assert!(
        [one, sibling, other]
            .iter()
            .all(|state| all.contains(&state.endpoint))
    );
}

pub async fn a_state_that_lost_stores_no_failed_events<S: Store>(store: &S) {
    let state = state();
    let one = failed(&state, 8, None);
    let written = succeed(store.save_endpoint_state(&state, std::slice::from_ref(&one))).await;
    assert_eq!(written, WriteOutcome::Written);
    let lost = succeed(store.save_endpoint_state(&state, &[failed(&state, 9, None)])).await;
    assert_eq!(lost, WriteOutcome::Conflict);
    assert_eq!(list(store, &state).await, [one]);
}

pub async fn failed_events_are_listed_found_replaced_and_removed<S: Store>(store: &S) {
    let (state, other) = (state(), state());
    let mut events = [30, 9, 100].map(|cursor| failed(&state, cursor, None));
    save(store, &state, &events).await;
    save(store, &other, &[failed(&other, 9, None)]).await;
    events.sort_by_key(|event| event.cursor);
    assert_eq!(list(store, &state).await, events, "the oldest first");
    events[1].note_failure(&PostError::Gone, add_millis(from_unix_millis(AHEAD), 1));
    assert_written(store.replace_failed_event(&events[1])).await;
    let find = async |cursor: u64| {
        succeed(store.find_failed_event(&state.tenant, &state.endpoint, EventCursor(cursor))).await
    };
    assert_eq!(find(30).await.as_ref(), Some(&events[1]));
    assert_eq!(find(31).await, None);
    succeed(store.remove_failed_event(&events[1])).await;
    succeed(store.remove_failed_event(&events[1])).await;
    assert_eq!(find(30).await, None);
    assert_conflict(store.replace_failed_event(&events[1])).await;
    assert_eq!(
        find(30).await,
        None,
        "an event that was accepted meanwhile does not come back"
    );
    assert_eq!(list(store, &state).await.len(), 2);
    assert_eq!(list(store, &other).await.len(), 1);
}

pub async fn events_that_are_due_come_in_the_order_of_their_times<S: Store>(store: &S) {
    let state = state();
    let events = [(1, Some(5)), (2, Some(3)), (3, None), (4, Some(9))];
    let events = events.map(|(cursor, next_at)| failed(&state, cursor, next_at));
    save(store, &state, &events).await;
    let due = async |minutes: i64, limit: usize| {
        let now = at(minutes * 60_000);
        let found = store.list_due_failed_events(&state.tenant, &state.endpoint, now, limit);
        succeed(found)
            .await
            .iter()
            .map(|event| event.cursor.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(due(2, 10).await, [0; 0]);
    assert_eq!(due(5, 10).await, [2, 1]);
    assert_eq!(due(9, 2).await, [2, 1]);
}

pub async fn all_records_of_an_endpoint_are_deleted<S: Store>(store: &S) {
    let (state, other) = (state(), state());
    for one in [&state, &other] {
        let written = succeed(store.save_endpoint_state(one, &[failed(one, 8, None)])).await;
        assert_eq!(written, WriteOutcome::Written);
    }
    let (tenant, endpoint) = (&state.tenant, &state.endpoint);
    succeed(store.delete_endpoint_records(tenant, endpoint, Some(state.generation()))).await;
    let find = async |of: &EndpointState| succeed(store.find_endpoint_state(&of.tenant, &of.endpoint)).await;
    assert_eq!(
        (find(&state).await, list(store, &state).await),
        (None, Vec::new())
    );
    assert_eq!(find(&other).await.as_ref(), Some(&other));
    assert_eq!(list(store, &other).await.len(), 1);
}

pub async fn records_of_endpoints_go_with_their_tenant<S: Store>(store: &S) {
    let (state, other) = (state(), state());
    for one in [&state, &other] {
        let written = succeed(store.save_endpoint_state(one, &[failed(one, 8, None)])).await;
        assert_eq!(written, WriteOutcome::Written);
    }
    assert_eq!(
        succeed(store.delete_tenant_records(&state.tenant, &[], 100)).await,
        2
    );
    let left = succeed(store.list_endpoint_states(Some(&state.tenant), 10)).await;
    assert_eq!((left, list(store, &state).await), (Vec::new(), Vec::new()));
    assert_eq!(list(store, &other).await.len(), 1);
}
