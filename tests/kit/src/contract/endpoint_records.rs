//! Records of the posts to endpoints: a state that is written on condition, and the events that were not accepted.

use super::given::{assert_conflict, assert_written};
use crate::builders::{Fixture, at, fresh, nonce};
use crate::ports::succeed;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::millis::{add_millis, from_unix_millis};
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent, PostError};
use recado_ports::ports::{PageRequest, Store};
use recado_ports::records::endpoints::{
    FAILED_EVENTS_PER_WRITE, delete_endpoint_records, find_endpoint_state, find_failed_event,
    list_due_failed_events, list_endpoint_states, list_failed_events, redrive_failed_event,
    remove_failed_event, save_endpoint_state,
};
use recado_ports::table::{Condition, NewItem, Partition, Query, Record, Versioned, Write, write_record};

/// A time at which records that failed then are not expired by any clock.
const AHEAD: i64 = 4_102_444_800_000;

fn state() -> EndpointState {
    let tenant = Fixture::new().bound.tenant.id;
    let endpoint = WebhookEndpointId::parse(&fresh("crm")).unwrap();
    EndpointState::start_at(&tenant, &endpoint, EventCursor(7), nonce())
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

async fn save<S: Store>(
    store: &S,
    state: &EndpointState,
    failed: &[FailedEvent],
) -> Versioned<EndpointState> {
    let mut saved = Versioned::new(state.clone());
    assert_written(save_endpoint_state(store, &mut saved, failed)).await;
    saved
}

async fn find_state<S: Store>(store: &S, of: &EndpointState) -> Option<EndpointState> {
    let found = succeed(find_endpoint_state(store, &of.tenant, &of.endpoint)).await;
    found.map(|found| found.record)
}

async fn find<S: Store>(store: &S, of: &EndpointState, cursor: u64) -> Option<Versioned<FailedEvent>> {
    succeed(find_failed_event(
        store,
        &of.tenant,
        &of.endpoint,
        EventCursor(cursor),
    ))
    .await
}

async fn list<S: Store>(store: &S, of: &EndpointState) -> Vec<FailedEvent> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = PageRequest { limit: 2, cursor };
        let page = succeed(list_failed_events(store, &of.tenant, &of.endpoint, &page)).await;
        assert!(page.items.len() <= 2);
        found.extend(page.items.into_iter().map(|found| found.record));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return found;
        }
    }
}

/// The places of the events that are due after so many minutes.
async fn list_due<S: Store>(store: &S, of: &EndpointState, minutes: i64, limit: usize) -> Vec<u64> {
    let now = at(minutes * 60_000);
    let found = list_due_failed_events(store, &of.tenant, &of.endpoint, now, limit);
    let found = succeed(found).await.into_iter();
    found.map(|found| found.record.cursor.0).collect()
}

/// How many index entries lead to events that are tried on by themselves.
async fn count_index_entries<S: Store>(store: &S, of: &EndpointState) -> u64 {
    let index = Partition::new(FailedEvent::INDEXES[0], Some(&of.tenant));
    succeed(store.count(&Query::new(index, 1))).await
}

pub async fn a_state_is_written_if_it_follows_the_stored_one<S: Store>(store: &S) {
    let first = state();
    assert_eq!(find_state(store, &first).await, None);
    let mut second = Versioned::new(first.clone());
    let mut made = save(store, &first, &[]).await;
    assert_conflict(save_endpoint_state(store, &mut second, &[])).await;
    let read = succeed(find_endpoint_state(store, &first.tenant, &first.endpoint)).await;
    let mut read = read.unwrap();
    made.record.cursor = EventCursor(9);
    assert_written(save_endpoint_state(store, &mut made, &[])).await;
    read.record.cursor = EventCursor(8);
    assert_conflict(save_endpoint_state(store, &mut read, &[])).await;
    made.record.failures = 1;
    assert_written(save_endpoint_state(store, &mut made, &[])).await;
    assert_eq!(find_state(store, &first).await.as_ref(), Some(&made.record));
    let generation = first.generation();
    succeed(delete_endpoint_records(
        store,
        &first.tenant,
        &first.endpoint,
        generation,
    ))
    .await;
    assert_conflict(save_endpoint_state(store, &mut made, &[])).await;
    assert_eq!(find_state(store, &first).await, None, "what is gone stays gone");
}

/// Each write has a random version, which the next one must name.
pub async fn an_endpoint_that_is_made_again_gets_nothing_of_the_one_before<S: Store>(store: &S) {
    let first = state();
    let (tenant, endpoint) = (&first.tenant, &first.endpoint);
    let mut late = save(store, &first, &[failed(&first, 8, Some(5))]).await;
    let mut of_first = find(store, &first, 8).await.unwrap();
    succeed(delete_endpoint_records(
        store,
        tenant,
        endpoint,
        first.generation(),
    ))
    .await;
    let again = EndpointState::start_at(tenant, endpoint, EventCursor(7), nonce());
    let of_again = failed(&again, 8, None);
    save(store, &again, std::slice::from_ref(&of_again)).await;
    // A pass that began before ends now.
    assert_conflict(save_endpoint_state(store, &mut late, &[failed(&first, 9, None)])).await;
    assert_conflict(write_record(store, &mut of_first)).await;
    assert!(!succeed(redrive_failed_event(store, &of_first, at(1))).await);
    succeed(remove_failed_event(store, &of_first)).await;
    // Nor does a late removal of the first take anything of the second.
    succeed(delete_endpoint_records(
        store,
        tenant,
        endpoint,
        first.generation(),
    ))
    .await;
    assert_eq!(
        (
            find_state(store, &again).await.as_ref(),
            list(store, &again).await
        ),
        (Some(&again), vec![of_again])
    );
}

/// As states and events were written before they had a generation.
pub async fn an_endpoint_of_before_generations_goes_on<S: Store>(store: &S) {
    let mut written = serde_json::to_value(state()).unwrap();
    written["rev"] = 1.into();
    let state: EndpointState = serde_json::from_value(written).unwrap();
    let event = failed(&state, 8, None);
    assert_eq!(event.generation, 0);
    let mut saved = save(store, &state, &[event]).await;
    assert_written(save_endpoint_state(store, &mut saved, &[])).await;
    let mut found = find(store, &state, 8).await.unwrap();
    found.record.redrive_event(from_unix_millis(AHEAD));
    assert_written(write_record(store, &mut found)).await;
    assert_eq!(list(store, &state).await, [found.record.clone()]);
    succeed(remove_failed_event(store, &found)).await;
    assert_eq!(list(store, &state).await, []);
}

pub async fn states_are_listed_by_tenant<S: Store>(store: &S) {
    let (one, mut sibling, other) = (state(), state(), state());
    sibling.tenant = one.tenant.clone();
    for state in [&one, &sibling, &other] {
        save(store, state, &[]).await;
    }
    let list = async |tenant: Option<&TenantId>| {
        let found = succeed(list_endpoint_states(store, tenant, 10_000)).await;
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
    save(store, &state, std::slice::from_ref(&one)).await;
    let mut lost = Versioned::new(state.clone());
    assert_conflict(save_endpoint_state(store, &mut lost, &[failed(&state, 9, None)])).await;
    assert_eq!(list(store, &state).await, [one]);
}

pub async fn failed_events_are_listed_found_replaced_and_removed<S: Store>(store: &S) {
    let (state, other) = (state(), state());
    let mut events = [30, 9, 100].map(|cursor| failed(&state, cursor, None));
    save(store, &state, &events).await;
    save(store, &other, &[failed(&other, 9, None)]).await;
    events.sort_by_key(|event| event.cursor);
    assert_eq!(list(store, &state).await, events, "the oldest first");
    let mut found = find(store, &state, 30).await.unwrap();
    let failed_again = add_millis(from_unix_millis(AHEAD), 1);
    found.record.note_failure(&PostError::Gone, failed_again);
    assert_written(write_record(store, &mut found)).await;
    assert_eq!(find(store, &state, 30).await.as_ref(), Some(&found));
    assert!(find(store, &state, 31).await.is_none());
    succeed(remove_failed_event(store, &found)).await;
    succeed(remove_failed_event(store, &found)).await;
    assert!(find(store, &state, 30).await.is_none());
    assert_conflict(write_record(store, &mut found)).await;
    assert!(!succeed(redrive_failed_event(store, &found, at(1))).await);
    assert!(
        find(store, &state, 30).await.is_none(),
        "an event that was accepted meanwhile does not come back"
    );
    assert_eq!(list(store, &state).await.len(), 2);
    assert_eq!(list(store, &other).await.len(), 1);
}

pub async fn an_event_that_another_changed_is_not_replaced_but_redriven_and_removed<S: Store>(store: &S) {
    let state = state();
    save(store, &state, &[failed(&state, 8, Some(5))]).await;
    let read = find(store, &state, 8).await.unwrap();
    let (mut first, mut second) = (read.clone(), read.clone());
    first
        .record
        .note_failure(&PostError::Gone, from_unix_millis(AHEAD));
    assert_written(write_record(store, &mut first)).await;
    assert_conflict(write_record(store, &mut second)).await;
    assert!(succeed(redrive_failed_event(store, &read, at(120_000))).await);
    let redriven = find(store, &state, 8).await.unwrap().record;
    assert_eq!((redriven.attempts, redriven.next_at), (0, Some(at(120_000))));
    assert_eq!(list_due(store, &state, 2, 10).await, [8]);
    succeed(remove_failed_event(store, &read)).await;
    assert_eq!(list(store, &state).await, []);
    assert_eq!(count_index_entries(store, &state).await, 0);
}

pub async fn events_that_are_due_come_in_the_order_of_their_times<S: Store>(store: &S) {
    let state = state();
    let events = [(1, Some(5)), (2, Some(3)), (3, None), (4, Some(9))];
    let events = events.map(|(cursor, next_at)| failed(&state, cursor, next_at));
    save(store, &state, &events).await;
    assert_eq!(list_due(store, &state, 2, 10).await, [0; 0]);
    assert_eq!(list_due(store, &state, 5, 10).await, [2, 1]);
    assert_eq!(list_due(store, &state, 9, 2).await, [2, 1]);
}

pub async fn of_another_endpoint_of_the_tenant_nothing_is_listed_or_due<S: Store>(store: &S) {
    let one = state();
    // The beginning of the other's name is its whole name.
    let endpoint = WebhookEndpointId::parse(&format!("{} 2", one.endpoint)).unwrap();
    let other = EndpointState::start_at(&one.tenant, &endpoint, EventCursor(7), nonce());
    save(store, &one, &[failed(&one, 1, Some(5))]).await;
    save(store, &other, &[failed(&other, 2, Some(4))]).await;
    for (state, cursor) in [(&one, 1), (&other, 2)] {
        assert_eq!(list_due(store, state, 5, 10).await, [cursor]);
        let listed = list(store, state).await;
        assert_eq!((listed.len(), listed[0].cursor), (1, EventCursor(cursor)));
    }
}

/// As one that was read just before the event failed once more.
pub async fn what_leads_to_an_event_too_early_makes_it_due_no_sooner<S: Store>(store: &S) {
    let state = state();
    let event = failed(&state, 8, Some(9));
    save(store, &state, std::slice::from_ref(&event)).await;
    let entry = succeed(store.get(&event.list_index_entries()[0].key)).await;
    let early = NewItem {
        key: failed(&state, 8, Some(5)).list_index_entries()[0].key.clone(),
        body: entry.unwrap().body,
        expires: None,
        due: None,
    };
    let written = succeed(store.write(&[Write::Put(early, Condition::Always)])).await;
    assert!(written.is_ok());
    assert_eq!(list_due(store, &state, 5, 10).await, [0; 0]);
    assert_eq!(list_due(store, &state, 9, 10).await, [8]);
}

pub async fn an_event_that_is_stored_again_is_due_once_and_at_its_new_time<S: Store>(store: &S) {
    let state = state();
    let mut saved = save(store, &state, &[failed(&state, 8, Some(5))]).await;
    let again = [failed(&state, 8, Some(9))];
    assert_written(save_endpoint_state(store, &mut saved, &again)).await;
    assert_eq!(list_due(store, &state, 5, 10).await, [0; 0]);
    assert_eq!(list_due(store, &state, 9, 10).await, [8]);
    assert_eq!(count_index_entries(store, &state).await, 1);
    let given_up = [failed(&state, 8, None)];
    assert_written(save_endpoint_state(store, &mut saved, &given_up)).await;
    assert_eq!(list_due(store, &state, 9, 10).await, [0; 0]);
    assert_eq!(count_index_entries(store, &state).await, 0);
    assert_eq!(list(store, &state).await, given_up);
}

pub async fn as_many_events_as_a_state_may_bring_are_stored_in_the_place_of_others<S: Store>(store: &S) {
    let state = state();
    let events = |minutes: i64| -> Vec<FailedEvent> {
        let cursors = (1..).take(FAILED_EVENTS_PER_WRITE);
        cursors
            .map(|cursor| failed(&state, cursor, Some(minutes)))
            .collect()
    };
    let mut saved = save(store, &state, &events(5)).await;
    let again = events(9);
    assert_written(save_endpoint_state(store, &mut saved, &again)).await;
    assert_eq!(list(store, &state).await, again);
}

pub async fn all_records_of_an_endpoint_are_deleted<S: Store>(store: &S) {
    let (state, other) = (state(), state());
    let events = |of: &EndpointState| [failed(of, 8, Some(5)), failed(of, 9, None)];
    for one in [&state, &other] {
        save(store, one, &events(one)).await;
    }
    let (tenant, endpoint) = (&state.tenant, &state.endpoint);
    succeed(delete_endpoint_records(
        store,
        tenant,
        endpoint,
        state.generation(),
    ))
    .await;
    assert_eq!(
        (find_state(store, &state).await, list(store, &state).await),
        (None, Vec::new())
    );
    assert_eq!(count_index_entries(store, &state).await, 0);
    assert_eq!(find_state(store, &other).await.as_ref(), Some(&other));
    assert_eq!(list(store, &other).await.len(), 2);
}

pub async fn records_of_endpoints_go_with_their_tenant<S: Store>(store: &S) {
    let (state, other) = (state(), state());
    for one in [&state, &other] {
        save(store, one, &[failed(one, 8, None)]).await;
    }
    assert_eq!(
        succeed(store.delete_tenant_records(&state.tenant, &[], 100)).await,
        2
    );
    let left = succeed(list_endpoint_states(store, Some(&state.tenant), 10)).await;
    assert_eq!((left, list(store, &state).await), (Vec::new(), Vec::new()));
    assert_eq!(list(store, &other).await.len(), 1);
}
