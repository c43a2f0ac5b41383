//! What may have been missed, and who fetches it.

use crate::builders::{Fixture, at, change_instance, seen};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};
use recado_pipeline::ports::Store;

async fn state<S: Store>(store: &S, fixture: &Fixture) -> InstanceState {
    succeed(store.read_instance_state(fixture.instance())).await
}

async fn set<S: Store>(store: &S, fixture: &Fixture, to: ConnectionStatus, now: i64) {
    let seen = seen(to, at(now), None);
    let changed = change_instance(store, fixture.instance(), InstanceChange::Connection(seen)).await;
    assert!(changed.done);
}

pub async fn of_ten_who_want_to_catch_up_one_does<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let claims = join_all((0..10).map(|_| {
        change_instance(
            store,
            fixture.instance(),
            InstanceChange::ClaimCatchUp {
                now: at(1_000),
                before: at(0),
            },
        )
    }))
    .await;
    let won = claims.into_iter().filter(|claim| claim.done);
    assert_eq!(won.count(), 1);
    assert_eq!(state(store, &fixture).await.caught_up_at, Some(at(1_000)));
}

pub async fn a_catch_up_may_be_claimed_again_once_the_last_one_is_old_enough<S: Store>(store: &S) {
    let (fixture, claim) = (Fixture::new(), |fixture: &Fixture, now, before| {
        let id = fixture.instance().clone();
        async move {
            change_instance(
                store,
                &id,
                InstanceChange::ClaimCatchUp {
                    now: at(now),
                    before: at(before),
                },
            )
            .await
            .done
        }
    });
    assert!(claim(&fixture, 1_000, 0).await);
    assert!(!claim(&fixture, 1_500, 999).await);
    assert!(claim(&fixture, 2_000, 1_000).await);
    assert!(
        claim(&Fixture::new(), 2_000, 1_000).await,
        "each instance has its own"
    );
}

pub async fn what_was_missed_since_the_closing_is_noted_until_it_is_fetched<S: Store>(store: &S) {
    let fixture = Fixture::new();
    set(store, &fixture, ConnectionStatus::Closed, 10).await;
    set(store, &fixture, ConnectionStatus::Open, 20).await;
    set(store, &fixture, ConnectionStatus::Closed, 30).await;
    set(store, &fixture, ConnectionStatus::Open, 40).await;
    let seen = state(store, &fixture).await;
    assert_eq!(seen.catch_up_from, Some(at(10)));
    change_instance(
        store,
        fixture.instance(),
        InstanceChange::CatchUp {
            from: seen.catch_up_from,
            since: seen.since,
            rest: Some(at(35)),
        },
    )
    .await;
    assert_eq!(state(store, &fixture).await.catch_up_from, Some(at(35)));
    change_instance(
        store,
        fixture.instance(),
        InstanceChange::CatchUp {
            from: seen.catch_up_from,
            since: seen.since,
            rest: None,
        },
    )
    .await;
    let seen = state(store, &fixture).await;
    assert_eq!(
        seen.catch_up_from,
        Some(at(35)),
        "another state than the one seen"
    );
    change_instance(
        store,
        fixture.instance(),
        InstanceChange::CatchUp {
            from: seen.catch_up_from,
            since: seen.since,
            rest: None,
        },
    )
    .await;
    assert_eq!(state(store, &fixture).await.catch_up_from, None);
    // From a state that has no note, too.
    let seen = state(store, &fixture).await;
    change_instance(
        store,
        fixture.instance(),
        InstanceChange::CatchUp {
            from: seen.catch_up_from,
            since: seen.since,
            rest: Some(at(50)),
        },
    )
    .await;
    assert_eq!(state(store, &fixture).await.catch_up_from, Some(at(50)));
}

pub async fn one_that_closed_meanwhile_keeps_its_note<S: Store>(store: &S) {
    let fixture = Fixture::new();
    set(store, &fixture, ConnectionStatus::Closed, 10).await;
    set(store, &fixture, ConnectionStatus::Open, 20).await;
    let seen = state(store, &fixture).await;
    set(store, &fixture, ConnectionStatus::Closed, 30).await;
    set(store, &fixture, ConnectionStatus::Open, 40).await;
    change_instance(
        store,
        fixture.instance(),
        InstanceChange::CatchUp {
            from: seen.catch_up_from,
            since: seen.since,
            rest: None,
        },
    )
    .await;
    assert_eq!(state(store, &fixture).await.catch_up_from, Some(at(10)));
}
