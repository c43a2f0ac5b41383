//! Turns that wait for an opening of an instance.

use crate::builders::{Fixture, at};
use crate::ports::succeed;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use recado_domain::instance::{InstanceChange, InstanceState};
use recado_ports::ports::Store;
use std::collections::BTreeSet;

/// The place of one more turn that waits for the opening at `opens_at`, as a turn takes it: without a read before.
async fn queue<S: Store>(store: &S, fixture: &Fixture, opens_at: Timestamp) -> Timestamp {
    let change = InstanceChange::QueueForOpening {
        opens_at,
        interval: SignedDuration::from_secs(3),
    };
    let unknown = InstanceState::default();
    let changed = succeed(store.change_instance_state(fixture.instance(), &unknown, &change)).await;
    let stored = succeed(store.read_instance_state(fixture.instance())).await;
    assert_eq!(changed.state.opening.unwrap().opens_at, opens_at);
    assert!(stored.opening.is_some());
    changed.state.opening.unwrap().last_at
}

pub async fn turns_that_wait_for_one_opening_take_places_one_behind_the_other<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let (today, tomorrow) = (at(60_000), at(86_460_000));
    assert_eq!(queue(store, &fixture, today).await, today);
    assert_eq!(queue(store, &fixture, today).await, at(63_000));
    assert_eq!(
        queue(store, &other, today).await,
        today,
        "each instance has its own"
    );
    assert_eq!(queue(store, &fixture, today).await, at(66_000));
    assert_eq!(queue(store, &fixture, tomorrow).await, tomorrow);
    assert_eq!(queue(store, &fixture, tomorrow).await, at(86_463_000));
}

pub async fn six_turns_at_once_get_six_places<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let opens = at(60_000);
    let places = join_all((0..6).map(|_| queue(store, &fixture, opens))).await;
    let expected: BTreeSet<Timestamp> = (0..6).map(|n| at(60_000 + n * 3_000)).collect();
    assert_eq!(places.into_iter().collect::<BTreeSet<_>>(), expected);
}
