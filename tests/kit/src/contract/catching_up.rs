//! What may have been missed, and who fetches it.

use crate::builders::{Fixture, at, change_instance, seen};
use crate::ports::succeed;
use futures::future::join_all;
use jiff::Timestamp;
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};
use recado_ports::ports::Store;

async fn state<S: Store>(store: &S, fixture: &Fixture) -> InstanceState {
    succeed(store.read_instance_state(fixture.instance())).await
}

async fn set<S: Store>(store: &S, fixture: &Fixture, to: ConnectionStatus, now: i64) {
    let seen = seen(to, at(now), None);
    let changed = change_instance(store, fixture.instance(), InstanceChange::Connection(seen)).await;
    assert!(changed.done);
}

/// Claims the catch-up at `now`, if the last one is older than `before`.
async fn claim<S: Store>(store: &S, fixture: &Fixture, now: i64, before: i64) -> bool {
    let (now, before) = (at(now), at(before));
    let claim = InstanceChange::ClaimCatchUp { now, before };
    change_instance(store, fixture.instance(), claim).await.done
}

/// Stores what is left to catch up, as one who saw the state `seen` does. Returns what is noted then.
async fn finish<S: Store>(
    store: &S,
    fixture: &Fixture,
    seen: &InstanceState,
    rest: Option<i64>,
) -> Option<Timestamp> {
    let (from, since, rest) = (seen.catch_up_from, seen.since, rest.map(at));
    let finished = InstanceChange::CatchUp { from, since, rest };
    change_instance(store, fixture.instance(), finished).await;
    state(store, fixture).await.catch_up_from
}

/// Closes the instance at `begun` and opens it 10 ms later.
async fn close_and_open<S: Store>(store: &S, fixture: &Fixture, begun: i64) {
    set(store, fixture, ConnectionStatus::Closed, begun).await;
    set(store, fixture, ConnectionStatus::Open, begun + 10).await;
}

pub async fn of_ten_who_want_to_catch_up_one_does<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let claims = join_all((0..10).map(|_| claim(store, &fixture, 1_000, 0))).await;
    assert_eq!(claims.into_iter().filter(|won| *won).count(), 1);
    assert_eq!(state(store, &fixture).await.caught_up_at, Some(at(1_000)));
}

pub async fn a_catch_up_may_be_claimed_again_once_the_last_one_is_old_enough<S: Store>(store: &S) {
    let fixture = Fixture::new();
    assert!(claim(store, &fixture, 1_000, 0).await);
    assert!(!claim(store, &fixture, 1_500, 999).await);
    assert!(claim(store, &fixture, 2_000, 1_000).await);
    assert!(
        claim(store, &Fixture::new(), 2_000, 1_000).await,
        "each instance has its own"
    );
}

pub async fn what_was_missed_since_the_closing_is_noted_until_it_is_fetched<S: Store>(store: &S) {
    let fixture = Fixture::new();
    close_and_open(store, &fixture, 10).await;
    close_and_open(store, &fixture, 30).await;
    let first = state(store, &fixture).await;
    assert_eq!(first.catch_up_from, Some(at(10)));
    assert_eq!(finish(store, &fixture, &first, Some(35)).await, Some(at(35)));
    assert_eq!(
        finish(store, &fixture, &first, None).await,
        Some(at(35)),
        "another state than the one seen"
    );
    let second = state(store, &fixture).await;
    assert_eq!(finish(store, &fixture, &second, None).await, None);
    // From a state that has no note, too.
    let third = state(store, &fixture).await;
    assert_eq!(finish(store, &fixture, &third, Some(50)).await, Some(at(50)));
}

pub async fn one_that_closed_meanwhile_keeps_its_note<S: Store>(store: &S) {
    let fixture = Fixture::new();
    close_and_open(store, &fixture, 10).await;
    let seen = state(store, &fixture).await;
    close_and_open(store, &fixture, 30).await;
    assert_eq!(finish(store, &fixture, &seen, None).await, Some(at(10)));
}
